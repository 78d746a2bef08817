package trust

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// run is a program that a command line starts, and the words that it gets.
type run struct {
	name string // without its folder, its version and the ending that Windows gives it
	args []string
}

// maxWrapped is how many programs are looked through that run another.
const maxWrapped = 4

// runs returns the programs that a command line starts: the command itself, and
// those that it is told to run.
func runs(command string, args []string) []run {
	r := run{program(command), args}
	all := []run{r}
	for len(all) <= maxWrapped {
		inner := r.inner()
		if len(inner) == 0 {
			break
		}
		r = run{program(inner[0]), inner[1:]}
		all = append(all, r)
	}
	return all
}

// inner returns the command line in the arguments of a program that runs another.
func (r run) inner() []string {
	fetcher, fetches := fetchers[r.name]
	switch {
	case slices.Contains(wrappers, r.name):
		if hasFlag(r.args, "-S", "--split-string") { // env: one argument is a command line
			return behind(strings.Fields(strings.Join(r.args, " ")))
		}
		return behind(r.args)
	case len(r.args) > 0 && slices.Contains(launchers[r.name], r.args[0]):
		return behind(r.args[1:])
	case fetches && len(fetcher.verb) == 0: // npx: a package is often an interpreter
		return behind(r.args)
	}
	return nil
}

// wrappers run the program that their arguments name.
var wrappers = []string{"env", "sudo", "doas", "nohup", "nice", "ionice", "time", "timeout", "exec", "xargs", "setsid", "stdbuf", "busybox",
	"cross-env", "cross-env-shell", "dotenv", "dotenvx", "nodemon", "pm2-runtime", "tini", "dumb-init", "flock", "chronic", "unbuffer", "script"}

// launchers run the program behind one of these words.
var launchers = map[string][]string{
	"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "rye": {"run"}, "conda": {"run"}, "mamba": {"run"},
	"pixi": {"run"}, "mise": {"exec", "x"}, "asdf": {"exec"}, "volta": {"run"}, "fnm": {"exec"}, "direnv": {"exec"}, "bundle": {"exec"},
	"pnpm": {"exec"}, "yarn": {"exec", "node"}, "npm": {"exec", "x"}, "corepack": {"exec"}, "op": {"run"}, "doppler": {"run"}, "devbox": {"run"},
}

var (
	shells     = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "csh", "tcsh", "nu", "cmd", "powershell", "pwsh"}
	containers = []string{"docker", "podman", "nerdctl"}
	builders   = []string{"make", "gmake", "just", "task", "cargo", "go", "gradle", "mvn", "dotnet", "rake", "ant", "sbt", "bazel", "mix", "nix", "swift", "zig", "poe", "nx", "turbo"}
)

// interpreter is a program that runs code which is in a file, or in its arguments.
type interpreter struct {
	inline  []string // flags and words that have code behind them
	project []string // those with which it looks for work in files of the project
	reads   []string // files of the folder it runs in that it reads by itself, and that can have it load code
}

// interpreters by their names; see [interpreterOf] for how else they are called.
var interpreters = map[string]interpreter{
	"node":      {inline: []string{"-e", "-p", "--eval", "--print"}, project: []string{"--run", "--test", "--experimental-default-config-file"}},
	"deno":      {inline: []string{"eval"}, project: []string{"task", "test", "bench"}, reads: []string{"deno.json", "deno.jsonc", "package.json"}},
	"bun":       {inline: []string{"-e", "-p", "--eval", "--print"}, project: []string{"test"}, reads: []string{"bunfig.toml", "package.json", "tsconfig.json"}},
	"tsx":       {inline: []string{"-e", "-p", "--eval", "--print"}, reads: []string{"tsconfig.json"}},
	"ts-node":   {inline: []string{"-e", "-p", "--eval", "--print"}, reads: []string{"tsconfig.json"}},
	"python":    {inline: []string{"-c"}},
	"ruby":      {inline: []string{"-e"}},
	"perl":      {inline: []string{"-e", "-E"}},
	"php":       {inline: []string{"-r", "-R", "-B", "-E"}},
	"lua":       {inline: []string{"-e"}},
	"java":      {},
	"rscript":   {inline: []string{"-e"}, reads: []string{".Rprofile", ".Renviron"}},
	"julia":     {inline: []string{"-e", "-E", "--eval", "--print"}},
	"elixir":    {inline: []string{"-e", "--eval"}},
	"osascript": {inline: []string{"-e"}},
	"tclsh":     {}, "groovy": {inline: []string{"-e"}}, "scala": {inline: []string{"-e"}}, "guile": {inline: []string{"-c", "-e"}},
	"awk": {}, "gjs": {inline: []string{"-c"}}, "qjs": {inline: []string{"-e"}}, "racket": {inline: []string{"-e"}},
}

// sameInterpreter are other names of interpreters.
var sameInterpreter = map[string]string{"nodejs": "node", "py": "python", "pypy": "python", "pythonw": "python", "ipython": "python",
	"jruby": "ruby", "luajit": "lua", "gawk": "awk", "mawk": "awk", "javaw": "java", "iojs": "node"}

// versioned is a name with the version of a program at its end.
var versioned = regexp.MustCompile(`^([a-z]+)-?[0-9][0-9.]*[a-z]?$`)

// interpreterOf returns the interpreter of a name: also nodejs, and python3.12.
func interpreterOf(name string) (i interpreter, known bool) {
	if v := versioned.FindStringSubmatch(name); v != nil {
		name = v[1]
	}
	if other, ok := sameInterpreter[name]; ok {
		name = other
	}
	i, known = interpreters[name]
	return i, known
}

// program returns the name that a command goes by.
func program(command string) string {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, end := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, end)
	}
	name, _, _ = strings.Cut(name, "@") // of a package: its version
	return name
}

// hasFlag reports whether one of the flags is given, also with its value behind
// it in one word.
func hasFlag(args []string, flags ...string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.ContainsFunc(flags, func(flag string) bool {
			return name == flag || len(flag) == len("-x") && strings.HasPrefix(arg, flag)
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

// isLine reports whether an argument of a shell has a line of commands behind it.
func isLine(arg string) bool {
	arg = strings.ToLower(arg)
	short := strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c") // -c, and -lc
	return short || arg == "/c" || arg == "/k" || strings.HasPrefix(arg, "-e") && strings.HasPrefix("-encodedcommand", arg)
}

// fetcher is a program that runs packages of a registry.
type fetcher struct {
	verb  []string // the words behind which the package stands, if there has to be one
	flags []string // those that name a package
	reads []string // files of the folder it runs in that say where packages come from
	local bool     // it runs what is in node_modules first
}

var fetchers = map[string]fetcher{
	"npx":  {nil, []string{"-p", "--package"}, npmReads, true},
	"npm":  {[]string{"exec", "x"}, []string{"-p", "--package"}, npmReads, true},
	"pnpm": {[]string{"dlx"}, []string{"--package"}, append(npmReads, "pnpm-workspace.yaml", ".pnpmfile.cjs"), false},
	"pnpx": {nil, []string{"--package"}, append(npmReads, "pnpm-workspace.yaml", ".pnpmfile.cjs"), false},
	"yarn": {[]string{"dlx"}, []string{"-p", "--package"}, append(npmReads, ".yarnrc", ".yarnrc.yml"), false},
	"bunx": {nil, []string{"-p", "--package"}, append(npmReads, "bunfig.toml"), true},
	"bun":  {[]string{"x"}, nil, append(npmReads, "bunfig.toml"), true},
	"uvx":  {nil, []string{"--from", "--with"}, []string{"uv.toml"}, false},
	"uv":   {[]string{"tool"}, []string{"--from", "--with"}, []string{"uv.toml"}, false},
	"pipx": {[]string{"run"}, []string{"--spec"}, nil, false},
}

var npmReads = []string{".npmrc"}

// fetches returns what a program of a registry is told to run. full are its own
// words, so far as they matter.
func (r run) fetches() (f fetcher, full string, packages []string, ok bool) {
	f, known := fetchers[r.name]
	full, args := r.name, r.args
	if !known || len(f.verb) > 0 && (len(args) == 0 || !slices.Contains(f.verb, args[0])) {
		return f, full, nil, false
	}
	if len(f.verb) > 0 {
		full, args = full+" "+args[0], args[1:]
	}
	if full == "uv tool" && len(args) > 0 {
		full, args = full+" "+args[0], args[1:]
	}
	return f, full, packagesOf(args, f.flags), true
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
