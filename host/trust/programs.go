package trust

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// role is what a program does with its arguments.
type role int

const (
	unknown     role = iota
	wrapper          // runs the program that its first operand names
	interpreter      // runs the code that its first operand names
	shell            // is one too, whose code is more than a file
	fetcher          // downloads the package that its first operand names, and runs it
	container        // runs an image
	builder          // runs what files of the folder say
	carrier          // may run any of its arguments
)

// program is what is known of programs that run others, or code. Whatever argument is not
// in args is not understood.
type program struct {
	is    role
	names string // with their first words, where these say what is run
	args  string // patterns of flags, with the meaning of their values
	reads string // files that it finds by itself in the folder it runs in, or above it

	assigns bool // operands with "=" set variables
	skips   int  // operands before the one that counts
	verbs   bool // an operand that looks like no file may be a word of its own
	modules bool // packages that the project has go first
}

// The meanings of values. A flag without one has no value, and no say in what runs.
const (
	aValue   = "value"   // has no say in what runs
	aDoubt   = "doubt"   // has a say that is not followed
	aCode    = "file"    // the name of code that runs as well
	aMain    = "main"    // the name of the code; what follows is the code's own
	aModule  = "module"  // what python -m takes
	aPath    = "path"    // where code is looked for
	aText    = "inline"  // code
	aLine    = "line"    // a command line, which what follows goes on with
	aPackage = "package" // of a registry
)

const (
	nodeArgs = "--no-warnings --no-deprecation --enable-source-maps --trace-warnings --trace-deprecation --trace-uncaught --throw-deprecation --max-old-space-size" +
		" --stack-trace-limit --expose-gc --experimental-strip-types --experimental-transform-types -r=file --require=file --import=file --loader=file --experimental-loader=file" +
		" -e=inline --eval=inline -p=inline --print=inline"
	npmArgs = "-y --yes -q --quiet --silent --no-install --prefer-offline --prefer-online -p=package --package=package -c=inline --call=inline --registry=value" +
		" --cache=doubt -w=doubt --workspace=doubt --prefix=doubt --userconfig=doubt --node-options=doubt"
	uvArgs = "-q --quiet -v --verbose --isolated --offline --no-cache -n --refresh --no-progress --from=package --with=package --python=value -p=value --index-url=value --index=value --default-index=value"
)

var programs = []program{
	{is: wrapper, names: "env", args: "-i -0 -v -u=value --unset=value --ignore-environment -C=doubt --chdir=doubt -S=line --split-string=line", assigns: true},
	{is: wrapper, names: "sudo, doas", args: "-E -H -n -S -b -u=value -g=value -p=value -D=doubt -R=doubt --user=value --group=value --preserve-env --non-interactive", assigns: true},
	{is: wrapper, names: "nice, ionice", args: "-[0-9]* -t -n=value -c=value --adjustment=value --class=value --classdata=value"},
	{is: wrapper, names: "timeout", args: "-v -f -p --foreground --preserve-status --verbose -s=value -k=value --signal=value --kill-after=value", skips: 1},
	{is: wrapper, names: "stdbuf", args: "-i=value -o=value -e=value --input=value --output=value --error=value"},
	{is: wrapper, names: "flock", args: "-s -x -e -n -o -F -v -w=value -E=value --shared --exclusive --nonblock --close --timeout=value --wait=value", skips: 1},
	{is: wrapper, names: "script", args: "-q -e -a -f -c=inline --command=inline --quiet --return --append --flush", skips: 1},
	{is: wrapper, names: "xargs", args: "-0 -r -t -n=value -L=value -P=value -I=value -d=value"},
	{is: wrapper, names: "setsid, unbuffer, nohup, exec, chronic, busybox, command", args: "-f -w -p"},
	{is: wrapper, names: "time, tini, dumb-init, catatonit", args: "-p -v -g -s -c"},
	{is: wrapper, names: "cross-env", assigns: true},

	{is: interpreter, names: "node, nodejs, iojs, electron", args: nodeArgs},
	{is: interpreter, names: "tsx, tsx watch, ts-node, ts-node-esm", args: nodeArgs + " -T --transpile-only", reads: "tsconfig.json package.json"},
	{is: interpreter, names: "deno, deno run", args: "-A -q --quiet --allow-* --deny-* --no-* --cached-only --unstable*", reads: "deno.json deno.jsonc package.json", verbs: true},
	{is: interpreter, names: "bun, bun run", args: "--silent --no-install --smol -r=file --preload=file --require=file --import=file -e=inline --eval=inline -p=inline --print=inline", reads: "bunfig.toml package.json tsconfig.json", verbs: true},
	{is: interpreter, names: "python, py, pypy, pythonw, ipython", args: "-b -B -d -E -i -I -O -P -q -s -S -u -v -x -W=value -X=doubt -c=inline -m=module"},
	{is: interpreter, names: "ruby, jruby", args: "-w -v -W[0-2] -U -r=file -e=inline"},
	{is: interpreter, names: "perl", args: "-w -W -t -T -n -p -a -l -e=inline -E=inline"},
	{is: interpreter, names: "php", args: "-q -n -f=main -r=inline -R=inline -B=inline -E=inline"},
	{is: interpreter, names: "lua, luajit", args: "-v -W -E -l=file -e=inline"},
	{is: interpreter, names: "java, javaw", args: "-Xm[sx]* -Xss* -ea -esa -server -jar=main -cp=path -classpath=path --class-path=path -p=path --module-path=path"},
	{is: interpreter, names: "rscript", args: "--vanilla --no-save --no-restore --slave --no-echo -e=inline", reads: ".Rprofile .Renviron"},
	{is: interpreter, names: "julia", args: "-q -O[0-3] -L=file -e=inline -E=inline --eval=inline --print=inline"},
	{is: interpreter, names: "elixir", args: "-r=file -e=inline --eval=inline"},
	{is: interpreter, names: "guile", args: "-s=main -l=file -c=inline -e=inline"},
	{is: interpreter, names: "osascript", args: "-l=value -e=inline"},
	{is: interpreter, names: "gjs, qjs, racket, groovy, scala, tclsh, bb, clojure", args: "-c=inline -e=inline"},

	{is: shell, names: "sh, bash, dash, zsh, ksh, mksh, ash, fish, csh, tcsh, nu", args: "-e -u -x -v -f -l -i --login --posix --norc --noprofile -c=inline"},
	{is: shell, names: "cmd", args: "/s /q /d /c=inline /k=inline"},
	{is: shell, names: "powershell, pwsh", args: "-noprofile -nop -nologo -noninteractive -executionpolicy=value -ex*=value -ep=value -f=main -file=main -c=inline -co*=inline -e=inline -ec=inline -en*=inline"},

	{is: fetcher, names: "npx, npm exec, npm x", args: npmArgs, reads: ".npmrc", modules: true},
	{is: fetcher, names: "bunx, bun x", args: npmArgs + " --bun", reads: ".npmrc bunfig.toml", modules: true},
	{is: fetcher, names: "pnpm dlx, pnpx", args: npmArgs, reads: ".npmrc pnpm-workspace.yaml .pnpmfile.cjs"},
	{is: fetcher, names: "yarn dlx", args: npmArgs, reads: ".npmrc .yarnrc .yarnrc.yml"},
	{is: fetcher, names: "uvx, uv tool run", args: uvArgs, reads: "uv.toml"},
	{is: fetcher, names: "pipx run", args: "--spec=package --python=value --no-cache -q --quiet"},

	{is: container, names: "docker, podman, nerdctl"},

	{is: carrier, names: "deno eval, ssh, git, socat, websocat, nc, ncat, rsync, tar, find, parallel, watch, awk, gawk, mawk, sed, vim, emacs, expect, strace, gdb, cross-env-shell"},

	// They look for work, for settings that are code, or for an environment.
	{is: builder, names: "npm, pnpm, yarn, corepack, nx, turbo, vite, vite-node, webpack, jest, vitest, nodemon, pm2, pm2-runtime, ts-node-dev, dotenv, dotenvx"},
	{is: builder, names: "uv, poetry, pipenv, pipx, pdm, hatch, rye, poe, conda, mamba, pixi, tox, nox, invoke, pytest, celery, flask, fastapi, fastmcp, mcp, streamlit, django-admin"},
	{is: builder, names: "uvicorn, gunicorn, hypercorn, daphne, granian, honcho, foreman, direnv, mise, asdf, volta, fnm, op, doppler, devbox, docker-compose, docker compose"},
	{is: builder, names: "make, gmake, just, task, cargo, go, gradle, mvn, dotnet, rake, bundle, rails, composer, ant, sbt, bazel, mix, nix, swift, zig, cmake, ninja, meson"},
}

// byName are the programs by their names and first words.
var byName = func() map[string]program {
	all := make(map[string]program)
	for _, p := range programs {
		for name := range strings.SplitSeq(p.names, ", ") {
			all[name] = p
		}
	}
	return all
}()

// run is a program that a command line starts, and what it makes of its words.
type run struct {
	program
	name    string   // without its folder and the ending that Windows gives it, and with the words that count as one
	command string   // as it is written
	args    []string // all of them

	odd      string   // the first argument that is not understood
	text     bool     // code stands in the arguments
	module   string   // that is run by its name
	files    []string // code that is loaded first
	paths    []string // where code is looked for
	packages []string
	rest     []string // from the first operand on
}

// maxWrapped is how many programs are looked through that run another.
const maxWrapped = 4

// runs returns the programs that a command line starts: the command itself, and those
// that it is told to run. The last one runs another if there are too many.
func runs(command string, args []string) []run {
	all := []run{read(command, args)}
	for len(all) <= maxWrapped {
		inner := all[len(all)-1].inner()
		if len(inner) == 0 {
			break
		}
		all = append(all, read(inner[0], inner[1:]))
	}
	return all
}

// versioned is a name with the version of a program at its end: python3.12.
var versioned = regexp.MustCompile(`^([a-z]+)-?[0-9][0-9.]*[a-z]?$`)

// read returns a program with its arguments as it reads them.
func read(command string, args []string) run {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	for _, end := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, end)
	}
	name, _, _ = strings.Cut(name, "@") // of a package: its version
	r := run{name: name, command: command, args: args}
	known := name
	if v := versioned.FindStringSubmatch(name); v != nil {
		known = v[1]
	}
	for words := min(len(args), 2); words >= 0; words-- {
		verbs := append([]string{""}, args[:words]...)
		if p, found := byName[known+strings.Join(verbs, " ")]; found {
			r.program, r.name = p, name+strings.Join(verbs, " ")
			r.parse(args[words:])
			break
		}
	}
	return r
}

// parse reads arguments up to the first operand that counts.
func (r *run) parse(args []string) {
	skips := r.skips
	for len(args) > 0 && r.rest == nil {
		arg, all := args[0], args
		args = args[1:]
		means, value, attached, known := r.flag(arg)
		if means != "" && !attached && len(args) > 0 {
			value, args = args[0], args[1:]
		}
		switch {
		case arg == "--":
			r.rest = args[min(skips, len(args)):]
		case !known && (arg == "-" || !strings.HasPrefix(arg, "-")):
			if r.assigns && strings.Contains(arg, "=") {
				continue
			}
			if skips--; skips < 0 {
				r.rest = all
			}
		case !known, means == aDoubt, means == aLine && strings.ContainsAny(value, `"'\$#`):
			r.odd = cmp.Or(r.odd, arg)
		}
		switch means {
		case aText:
			r.text = true
		case aCode:
			r.files = append(r.files, value)
		case aPath:
			r.paths = append(r.paths, filepath.SplitList(value)...)
		case aPackage:
			r.packages = append(r.packages, value)
		case aModule:
			r.odd = cmp.Or(r.odd, value) // a cache beside it may be what runs
			r.module, r.rest = value, []string{}
		case aMain:
			r.rest = []string{value}
		case aLine:
			r.rest = append(strings.Fields(value), args...)
		}
	}
	if r.is == fetcher && r.packages == nil && len(r.rest) > 0 {
		r.packages = r.rest[:1]
	}
}

// flag returns what an argument means to a program, with the value that is in it.
func (r *run) flag(arg string) (means, value string, attached, known bool) {
	if r.is == shell {
		arg = strings.ToLower(arg)
	}
	name, value, attached := strings.Cut(arg, "=")
	if means, known = r.meaning(name); known || len(arg) < 2 || arg[0] != '-' || arg[1] == '-' {
		return means, value, attached, known
	}
	for letters := arg; len(letters) > 1; letters = "-" + letters[2:] { // several in one: -um
		if means, known = r.meaning(letters[:2]); means != "" || !known {
			return means, letters[2:], len(letters) > 2, known
		}
	}
	return "", "", false, true
}

func (r *run) meaning(flag string) (means string, known bool) {
	for arg := range strings.FieldsSeq(r.program.args) {
		pattern, means, _ := strings.Cut(arg, "=")
		if known, _ := path.Match(pattern, flag); known {
			return means, true
		}
	}
	return "", false
}

// inner returns the command line in the arguments of a program that runs another. Where
// they are not understood, it is what begins with a program that runs code.
func (r *run) inner() []string {
	switch {
	case r.is == interpreter, r.is == shell, r.is == container:
		return nil
	case (r.is == wrapper || r.is == fetcher) && r.odd == "":
		return r.rest
	}
	for i, arg := range r.args {
		switch read(arg, r.args[i+1:]).is {
		case interpreter, shell, fetcher:
			return r.args[i:]
		}
	}
	if r.is == wrapper || r.is == fetcher {
		return r.rest
	}
	return nil
}
