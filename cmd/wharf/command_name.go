package main

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/trust"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// launcher is a program that runs another in the environment of a project.
type launcher struct {
	verb  string // the word before the command line that is run; "" = there is none
	takes string // its flags that have a value
	dir   string // those whose value is the folder that the command line counts from
}

// launchers are known by the name of the program.
var launchers = map[string]launcher{
	"uv": {"run", "with with-editable with-requirements python p env-file extra no-extra group no-group only-group package project index default-index index-url i " +
		"extra-index-url find-links f config-file cache-dir refresh-package upgrade-package P color", "directory"},
	"poetry":  {"run", "project P", "directory C"},
	"pipenv":  {"run", "python", ""},
	"pdm":     {"run", "project p", ""},
	"hatch":   {"run", "env e project p data-dir cache-dir config", ""},
	"rye":     {"run", "pyproject", ""},
	"pixi":    {"run", "environment e manifest-path", ""},
	"mcp":     {"run", "transport t", ""},
	"fastmcp": {"run", "transport t with python project host port log-level l", ""},
	"dnx":     {"", "verbosity v source add-source configfile", ""},
	"go":      {"run", "exec tags mod modfile overlay ldflags gcflags asmflags toolexec p", "C"},
}

// entryName makes the name of an entry from another name; "" if it has no letters that the name may have.
func entryName(made string) string {
	made = strings.Trim(notInEntryNames.ReplaceAllString(made, "-"), "-._")
	return made[:min(len(made), 64)]
}

var notInEntryNames = lazyregexp.New(`[^A-Za-z0-9_.-]+`)

// commandName makes a name from a command line: that of the package, the image or the script that its program is
// known to run, or else of the program.
func commandName(argv []string) string {
	program := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	name := ""
	if inner := launched(program, argv[1:]); inner != nil {
		name = commandName(inner)
	} else if slices.Contains([]string{"docker", "podman"}, program) && len(argv) > 1 && argv[1] == "run" {
		name = imageName(argv[2:])
	} else if inner := trust.Inner(argv[0], argv[1:]); inner != nil {
		name = commandName(inner)
	} else {
		name = cmp.Or(scriptName(argv), programName(argv[0]))
	}
	if entryName(name) == "" {
		return program
	}
	return name
}

// launched returns the command line that a launcher is told to run, with a whole path to its script if a flag
// says the folder; nil for other programs.
func launched(program string, words []string) []string {
	l, known := launchers[program]
	verb, dir := l.verb, ""
	is := func(flag, among string) bool {
		return strings.HasPrefix(flag, "-") && slices.Contains(strings.Fields(among), strings.TrimLeft(flag, "-"))
	}
	for i := 0; known && i < len(words); i++ {
		flag, value, joined := strings.Cut(words[i], "=")
		takes := is(flag, l.takes+" "+l.dir)
		if takes && !joined && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch {
		case is(flag, l.dir):
			dir = value
		case takes:
		case flag == "-m" || flag == "--module":
			return append([]string{"python"}, words[i:]...)
		case strings.HasPrefix(flag, "-"):
		case verb != "" && flag != verb:
			return nil
		case verb != "":
			verb = ""
		case dir != "" && interpreted(words[i]) != nil && !filepath.IsAbs(words[i]):
			return append([]string{filepath.Join(dir, words[i])}, words[i+1:]...)
		case words[i] == ".": // the folder itself, whose name tells more
			if whole, err := filepath.Abs(dir); err == nil {
				return []string{whole}
			}
			return nil
		default:
			return words[i:]
		}
	}
	return nil
}

// imageName makes a name from the words behind docker run; "" if there is no image among them.
func imageName(words []string) string {
	at := config.Image(words)
	if at < 0 {
		return ""
	}
	image, _, _ := strings.Cut(words[at], "@")
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name
}

// scriptName makes a name from the command line of an interpreter, or of a script: that of its script, or of the
// package that a module is in; "" if it runs neither for certain.
func scriptName(argv []string) string {
	file, module := trust.Main(argv[0], argv[1:])
	if file == "" && interpreted(argv[0]) != nil {
		file = argv[0]
	}
	if file == "" || interpreted(file) == nil && filepath.Ext(file) != ".jar" && !strings.Contains(filepath.ToSlash(file), "/") { // a word may be no file
		name, _, _ := strings.Cut(module, ".")
		return name
	}
	if kind, spec, found := strings.Cut(file, ":"); found && (kind == "npm" || kind == "jsr") {
		return programName(spec)
	}
	if whole, err := filepath.Abs(file); err == nil && !strings.Contains(file, ":") {
		file = whole
	}
	file = filepath.ToSlash(file)
	if ext := path.Ext(file); interpreted(file) != nil || ext == ".jar" {
		file = strings.TrimSuffix(file, ext)
	}
	return telling(file)
}

// programName makes a name from the name of a package with its version, or from the path of a program.
func programName(spec string) string {
	spec = strings.TrimSuffix(filepath.ToSlash(spec), ".exe")
	base := path.Base(spec)
	if at := strings.IndexAny(base, "@[=<>~!"); at > 0 { // a version, or what is added
		base = base[:at]
	}
	base = strings.TrimSuffix(base, ".git")
	if strings.HasPrefix(spec, "@") { // a scope of npm, which says more
		return telling(path.Dir(spec) + "/" + base)
	}
	return base
}

// telling returns the last part of a path that says what the server is about, or else the last one.
func telling(file string) string {
	for at := file; ; at = path.Dir(at) {
		switch base := path.Base(at); {
		case base == "/" || base == ".":
			return path.Base(file)
		case !slices.Contains(general, strings.ToLower(base)):
			return base
		}
	}
}

// general are names of scripts and folders that say nothing of a server.
var general = strings.Fields("index main __main__ server app cli mod run start mcp mcp-server mcp_server dist build src lib out bin")
