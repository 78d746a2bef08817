package trust

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A warning is never a verdict: any command can do what its user can, and a list
// of good ones would only teach to trust the wrong thing. Warnings say what a look
// at a line of arguments does not.

// Warnings returns what a person should know before they agree to a command.
func Warnings(command string, args []string) []string {
	w := warnings{}
	if letters := foreign(command + strings.Join(args, "")); letters != "" {
		w.add("it has letters that may look like others: %s", letters)
	}
	w.judge(command, args, maxWrapped)
	return w
}

// maxWrapped is how many programs are looked through that run another.
const maxWrapped = 4

func (w *warnings) judge(command string, args []string, wrapped int) {
	name := program(command)
	switch {
	case slices.Contains(wrappers, name):
		w.add("%s runs the program that its arguments name", name)
		if inner := behind(args); len(inner) > 0 && wrapped > 0 {
			w.judge(inner[0], inner[1:], wrapped-1)
		}
	case slices.Contains(shells, name):
		w.shell(name, args)
	case slices.Contains(containers, name):
		w.container(name, args)
	case slices.Contains(builders, name):
		w.add(mayChange, name)
	case slices.Contains(interpreters, name) && hasFlag(args, "-e", "-c", "-p", "-r", "--eval", "--print", "eval"):
		w.add("%s runs code that stands in its arguments: read them all", name)
	case slices.Contains(interpreters, name) && hasFlag(args, "-m"):
		w.add("%s -m runs a module by its name, which may be one of the project", name)
	}
	w.packages(name, args)
}

// mayChange is said of programs that look for work in the folder they run in.
const mayChange = "%s runs what files of the project say; they can change without you being asked again"

type warnings []string

func (w *warnings) add(format string, a ...any) { *w = append(*w, fmt.Sprintf(format, a...)) }

var (
	wrappers     = []string{"env", "sudo", "doas", "nohup", "nice", "time", "timeout", "exec", "xargs", "setsid", "stdbuf", "busybox"}
	shells       = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "csh", "tcsh", "cmd", "powershell", "pwsh"}
	containers   = []string{"docker", "podman", "nerdctl"}
	interpreters = []string{"node", "python", "python3", "ruby", "perl", "php", "deno", "bun", "lua", "osascript"}
	builders     = []string{"make", "just", "task", "cargo", "go", "gradle", "mvn", "dotnet", "rake"}
)

// program returns the name that a command goes by.
func program(command string) string {
	name := path.Base(strings.ReplaceAll(command, `\`, "/"))
	for _, end := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(strings.ToLower(name), end)
	}
	return name
}

// hasFlag reports whether one of the flags is given, also with its value behind
// it in one word.
func hasFlag(args []string, flags ...string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.ContainsFunc(flags, func(flag string) bool {
			short := len(flag) == 2 && !strings.HasPrefix(arg, "--") && strings.HasPrefix(arg, flag)
			return name == flag || short
		})
	})
}

// behind returns the command in the arguments of a program that runs another.
func behind(args []string) []string {
	for i, arg := range args {
		if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && !isNumber(arg) {
			return args[i:]
		}
	}
	return nil
}

var number = regexp.MustCompile(`^[0-9.]+[smhd]?$`)

func isNumber(arg string) bool { return number.MatchString(arg) }

func (w *warnings) shell(name string, args []string) {
	isLine := func(arg string) bool {
		arg = strings.ToLower(arg)
		short := len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && strings.Contains(arg, "c") // -c, and -lc
		return short || arg == "/c" || arg == "/k" || strings.HasPrefix(arg, "-e") && strings.HasPrefix("-encodedcommand", arg)
	}
	if slices.ContainsFunc(args, isLine) {
		w.add("%s runs a line of shell, which may be many commands: read it to its end", name)
		return
	}
	w.add("%s runs a script: look into it", name)
}

func (w *warnings) container(name string, args []string) {
	if hasFlag(args, "-v", "--volume", "--mount", "--privileged", "--pid", "--device", "--cap-add", "--volumes-from") ||
		hasFlag(args, "--net", "--network") && slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "host") }) {
		w.add("it gives the container some of this machine: look at its options")
	}
	w.add("%s can reach all that you can, and more", name)
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "@sha256:") }) {
		w.add("no image is named by its digest (@sha256:…): what it runs can change without you being asked again")
	}
}

// fetchers are the programs that run packages of a registry: the words behind
// which the package stands, if there has to be one, and the flags that name it.
var fetchers = map[string]struct{ verb, flags []string }{
	"npx":  {nil, []string{"-p", "--package"}},
	"npm":  {[]string{"exec", "x"}, []string{"-p", "--package"}},
	"pnpm": {[]string{"dlx"}, []string{"--package"}},
	"pnpx": {nil, []string{"--package"}},
	"yarn": {[]string{"dlx"}, []string{"-p", "--package"}},
	"bunx": {nil, []string{"-p", "--package"}},
	"bun":  {[]string{"x"}, nil},
	"uvx":  {nil, []string{"--from", "--with"}},
	"uv":   {[]string{"tool"}, []string{"--from", "--with"}},
	"pipx": {[]string{"run"}, []string{"--spec"}},
}

// packages warns of what is downloaded to be run.
func (w *warnings) packages(name string, args []string) {
	f, known := fetchers[name]
	if !known {
		return
	}
	if len(f.verb) > 0 {
		if len(args) == 0 || !slices.Contains(f.verb, args[0]) {
			w.add(mayChange, name)
			return
		}
		name, args = name+" "+args[0], args[1:]
	}
	if name == "uv tool" && len(args) > 0 {
		name, args = name+" "+args[0], args[1:]
	}
	if strings.HasPrefix(name, "np") && hasFlag(args, "-c", "--call") {
		w.add("%s -c runs a line of shell: read it to its end", name)
	}
	w.add("%s downloads a package and runs it", name)
	for _, p := range packagesOf(args, f.flags) {
		if !isPinned(p) {
			w.add("%s has no exact version: what it runs can change without you being asked again", Word(p))
		}
	}
}

// valued are other flags of fetchers whose value is the next word.
var valued = []string{"--python", "--index-url", "--index", "--registry", "--cache", "-w", "--workspace", "-c", "--call"}

// packagesOf returns what is named by flags, or else the first argument. What
// follows that is the package's own.
func packagesOf(args, flags []string) (named []string) {
	for i := 0; i < len(args); i++ {
		name, value, assigned := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
			if len(named) == 0 {
				named = args[i : i+1]
			}
			return named
		case slices.Contains(flags, name) && assigned:
			named = append(named, value)
		case slices.Contains(flags, name) && i+1 < len(args):
			i++
			named = append(named, args[i])
		case slices.Contains(valued, args[i]):
			i++
		}
	}
	return named
}

var pinned = regexp.MustCompile(`.@v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$|.==[0-9][0-9A-Za-z.+-]*$|[#@][0-9a-f]{40}$`)

// isPinned reports whether a package is named with one version: name@1.2.3 or
// name==1.2.3, or the commit of a repository.
func isPinned(name string) bool { return pinned.MatchString(name) }

// loaders are the variables that change which code programs load.
var loaders = regexp.MustCompile(`^(LD_.*|DYLD_.*|BASH_FUNC_.*|GIT_.*|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|HOME|STARTUP|INSPECT)|` +
	`BASH_ENV|ENV|SHELLOPTS|IFS|PATH|PERL5(OPT|LIB)|RUBY(OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH|` +
	`NPM_CONFIG_.*|npm_config_.*|UV_.*|PIP_.*|DOCKER_HOST|(HTTPS?|ALL)_PROXY|(https?|all)_proxy|SSL_CERT_.*|NODE_EXTRA_CA_CERTS)$`)

// LoaderWarnings returns what a person should know of the variables that an entry
// sets, by their names.
func LoaderWarnings(names []string) (w []string) {
	for _, name := range names {
		if loaders.MatchString(name) {
			w = append(w, fmt.Sprintf("%s changes what programs load or reach: look at its value in the file", Word(name)))
		}
	}
	return w
}
