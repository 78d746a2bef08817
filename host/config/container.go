package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// imageFlag matches a flag of docker run that has no value behind it: it takes none, or has it in the same word.
var imageFlag = lazyregexp.New(`^(-[ditqP]+|-[euvpwmhl].+|--(detach|init|interactive|no-healthcheck|oom-kill-disable|privileged|publish-all|quiet|read-only|rm|tty)|--[a-z-]+=.*)$`)

// Image returns the index of the image among the words behind docker run, or -1.
func Image(words []string) int {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case imageFlag.MatchString(word):
		case strings.HasPrefix(word, "-"):
			i++ // its value
		default:
			return i
		}
	}
	return -1
}

// containerVariable matches a flag of docker run for a variable, with its value in the same word.
var containerVariable = lazyregexp.New(`^(?:-e=?|--env=)(.+)$`)

// containerEnv adds to env the variables that docker run, or podman run, takes from its own environment: those of
// which a flag has the name alone. As there, one that is not set is none of the container's.
func (e *entry) containerEnv(command string, args []string, env map[string]string) map[string]string {
	program := strings.TrimSuffix(filepath.Base(command), ".exe")
	if program != "docker" && program != "podman" || len(args) == 0 || args[0] != "run" {
		return env
	}
	flags := args[1:]
	flags = flags[:max(Image(flags), 0)]
	for i, word := range flags {
		name := ""
		if i > 0 && (flags[i-1] == "-e" || flags[i-1] == "--env") {
			name = word
		} else if m := containerVariable.FindStringSubmatch(word); m != nil {
			name = m[1]
		}
		if _, given := env[name]; given || !variable.MatchString(name) {
			continue
		}
		if env == nil {
			env = make(map[string]string)
		}
		env[name] = "${" + name + "}"
		e.raw = append(e.raw, "env."+name)
		e.nameIn("env."+name, "args")
		if _, set := os.LookupEnv(name); !set {
			e.note("args", "%s takes the variable %s from the environment, and it is not set", program, name)
		}
	}
	return env
}
