package trust

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// Each paragraph of the golden file is a command and what is said about it.
func TestWarnings(t *testing.T) {
	var b strings.Builder
	empty := repo(t)
	for _, line := range []string{
		"/usr/bin/mcp-files --root /notes",
		"/usr/bin/npx -y @scope/server",
		"/usr/bin/npx -y @scope/server@1.2.3 --package other",
		"/usr/bin/npx @scope/server@latest",
		"/usr/bin/npx server@^1.2.3",
		"/usr/bin/npx --package=a@1.0.0 -p b c",
		"/usr/bin/npx -c evil",
		`C:\Programs\npx.cmd github:me/server#0123456789012345678901234567890123456789`,
		"/usr/bin/npm exec server",
		"/usr/bin/npm run mcp",
		"/usr/bin/pnpm dlx server@1.2.3",
		"/usr/bin/bunx server",
		"/usr/bin/uvx mcp-server==1.2.3",
		"/usr/bin/uvx --python 3.12 --from git+https://example.com/x mcp-server",
		"/usr/bin/uv tool run mcp-server@1.2",
		"/usr/bin/uv run server.py",
		"/usr/bin/pipx run mcp-server",
		"/usr/bin/docker run -i --rm -v /:/host mcp/files",
		"/usr/bin/docker run -i --rm --network=host mcp/files@sha256:abc",
		"/usr/bin/docker run -i --rm --network=bridge mcp/files@sha256:abc",
		"/usr/bin/docker run -i --rm mcp/host@sha256:abc",
		"/bin/sh -c ls",
		"/bin/bash -lc ls",
		"/bin/bash run.sh",
		"cmd.exe /c dir",
		"powershell -enc AAAA",
		"/usr/bin/env -S A=b npx server",
		"/usr/bin/sudo sh -c x",
		"/usr/bin/node -e code",
		"/usr/bin/node --eval=code",
		"/usr/bin/node server.js -c config",
		"/usr/bin/python3 -m server",
		"/usr/bin/make mcp",
		"/usr/bin/go run ./cmd/server",
		"/usr/bin/nрx server",
		"/usr/bin/node server",
		"/usr/bin/node .",
		"/usr/bin/node -r ./hook.js server.js",
		"/usr/bin/nodejs --run start",
		"/usr/bin/node --env-file=.env --print x",
		"/usr/bin/python3.12 server.py",
		"/usr/bin/python -c code",
		"/usr/bin/env node server",
		"/usr/bin/npx -y tsx server.ts",
		"/usr/bin/npx node@20.1.0 server",
		"/usr/bin/uv run python server.py",
		"/usr/bin/deno run -A server.ts",
		"/usr/bin/deno eval code",
		"/usr/bin/deno task start",
		"/usr/bin/bun run start",
		"/usr/bin/bun x server",
		"/usr/bin/ruby -e code",
		"/usr/bin/java -jar app.jar",
		"/usr/bin/java -cp . Main",
		"/usr/bin/cross-env A=b node server",
	} {
		words := strings.Fields(line)
		b.WriteString(line + "\n")
		f, err := questionBudget(t.Context()).code(empty, empty, words[0], words[1:], nil)
		if err != nil {
			t.Error(err)
		}
		for _, w := range saidOf(words[0], words[1:], f) {
			b.WriteString("\t" + w + "\n")
		}
	}
	var env warnings
	env.environment(map[string]string{
		"TOKEN": "x", "LD_PRELOAD": "./evil.so", "NODE_OPTIONS": "--require ./x.js", "PATH": "", "PATHS": "x", "DYLD_INSERT_LIBRARIES": "x", "GIT_SSH_COMMAND": "x", "HTTPS_PROXY": "http://x",
		"JDK_JAVA_OPTIONS": "-javaagent:x.jar", "JAVA_TOOL_OPTIONS": "x", "GOFLAGS": "-toolexec=./x", "GOOGLE_API_KEY": "x", "MAKEFLAGS": "x", "RUSTC_WRAPPER": "./x",
		"BUN_OPTIONS": "--preload ./x.ts", "DENO_DIR": ".", "HOME": ".", "XDG_CONFIG_HOME": ".", "npm_config_registry": "http://x", "OPENSSL_CONF": "x.cnf",
		"NODE_TLS_REJECT_UNAUTHORIZED": "0", "NODE_ENV": "production", "PYTHONBREAKPOINT": "x.y", "PYTHONUNBUFFERED": "1", "DOTNET_STARTUP_HOOKS": "x.dll",
		"SSLKEYLOGFILE": strings.Repeat("x", 5000), "AWS_CONFIG_FILE": "\x1b[2J", "AWS_REGION": "x",
		"NODE_COMPILE_CACHE": "c", "ERL_FLAGS": "-run x", "JULIA_LOAD_PATH": ".", "GUILE_LOAD_PATH": ".", "AWKPATH": ".", "PYENV_VERSION": "x",
	}, findings{})
	for _, w := range slices.Concat(env.worst, env.others) {
		b.WriteString(w + "\n")
	}
	const golden = "testdata/warnings.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != b.String() {
		t.Errorf("error %v, got\n%s", err, b.String())
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		arg  string
		want bool
	}{
		{"-e", true}, {"-ecode", true}, {"-e=code", true}, {"--eval", true}, {"--eval=code", true}, {"task", true},
		{"--evaluate", false}, {"--e", false}, {"-x", false}, {"tasks", false}, {"e", false}, {"", false},
	} {
		r := run{program: program{args: "-e=inline --eval=inline task=inline"}}
		if means, _, _, _ := r.flag(test.arg); (means == aText) != test.want {
			t.Errorf("%q: %v", test.arg, !test.want)
		}
	}
}

// So many letters in one flag are read; the last of them may have a value behind it, or
// in the next argument.
func TestLettersOfAFlag(t *testing.T) {
	most := "-" + strings.Repeat("u", maxLetters)
	for arg, want := range map[string]struct {
		means, value    string
		attached, known bool
	}{
		"-um":                    {aModule, "", false, true},
		"-umx":                   {aModule, "x", true, true},
		"-uuz":                   {"", "z", true, false},
		most:                     {"", "", false, true},
		most + "u":               {"", "", false, false},
		most[:maxLetters] + "m":  {aModule, "", false, true},
		most[:maxLetters] + "mx": {aModule, "x", true, true},
		most + "m":               {"", "", false, false},
	} {
		r := run{program: program{args: "-u -m=module"}}
		means, value, attached, known := r.flag(arg)
		if known != want.known || means != want.means || known && (value != want.value || attached != want.attached) {
			t.Errorf("%s means %q with %q, attached %v, known %v", arg, means, value, attached, known)
		}
	}
}

// Only a line of shell is doubtful for what is in it.
func TestDoubtfulValues(t *testing.T) {
	for line, want := range map[string]string{"env -S a$b": "-S", "env -S ab": "", "python -W a$b x.py": "", "sh -c a$b": ""} {
		words := strings.Fields(line)
		if got := read(words[0], words[1:]).odd; got != want {
			t.Errorf("%s: %q is odd", line, got)
		}
	}
}

func TestLinesOfShell(t *testing.T) {
	for arg, want := range map[string]bool{
		"-c": true, "-lc": true, "-C": true, "/c": true, "/K": true, "-e": true, "-Enc": true, "-encodedCommand": true,
		"--rcfile": false, "-l": false, "-ex": false, "c": false, "run.sc": false, "/x": false, "-": false, "": false,
	} {
		isLine := func(shell string) bool { return read(shell, []string{arg}).text }
		if slices.ContainsFunc([]string{"bash", "cmd", "powershell"}, isLine) != want {
			t.Errorf("%q: %v", arg, !want)
		}
	}
}

// Of programs that run another, so many are looked through and no more.
func TestWrappedPrograms(t *testing.T) {
	all := runs("/usr/bin/env", strings.Fields("env nice env nice npx node"))
	if len(all) != maxWrapped+1 || all[maxWrapped].name != "nice" {
		t.Errorf("%+v", all)
	}
}

// Behind an argument that is not understood a program is looked for all the same.
func TestProgramBehindAnOddArgument(t *testing.T) {
	for line, want := range map[string]string{
		"env --foo docker run x": "docker", "npx --foo make": "make", "make --foo docker": "make", "env --foo x node y": "node",
	} {
		words := strings.Fields(line)
		all := runs(words[0], words[1:])
		if last := all[len(all)-1]; last.name != want {
			t.Errorf("%s runs %s", line, last.name)
		}
	}
}

// A program that too many others stand before is not looked for, which is told; where
// nothing is left to run there is nothing to tell.
func TestTooManyWrappers(t *testing.T) {
	dir := repo(t, "server.js")
	for line, want := range map[string]bool{
		strings.Repeat("env ", maxWrapped) + "node server.js":   false,
		strings.Repeat("env ", maxWrapped+1) + "node server.js": true,
		strings.Repeat("env ", maxWrapped) + "--":               false,
	} {
		words := strings.Fields(line)
		f, err := questionBudget(t.Context()).code(dir, dir, words[0], words[1:], nil)
		if told := slices.ContainsFunc(saidOf(words[0], words[1:], f), isUnpinned); told != want || err != nil {
			t.Errorf("%s: told %v, %v", line, told, err)
		}
	}
}

// Of what is not pinned, only what stands in the arguments is quoted.
func TestWhatIsNotPinnedIsQuoted(t *testing.T) {
	for unpinned, want := range map[string]string{"": "", "/home/me/.npmrc": "", "x.js": " (x.js)", ",x.js": " (x.js)", "/home/me/.npmrc,x.js": " (x.js)"} {
		said := saidOf("node", []string{"x.js"}, findings{unpinned: strings.Split(unpinned, ",")})
		if want := "the code that this runs is not pinned" + want + ": it can change without you being asked again"; !slices.Contains(said, want) {
			t.Errorf("%q: %q", unpinned, said)
		}
	}
}

func TestPackageOfTheProject(t *testing.T) {
	for by, want := range map[string]bool{"npx": true, "node": false, "": false} {
		said := saidOf("npx", []string{"server"}, findings{local: []string{by}})
		if slices.Contains(said, "npx takes it from node_modules of the project, and not from the registry") != want {
			t.Errorf("%q: %q", by, said)
		}
	}
}

func TestWordsInWarningsAreShort(t *testing.T) {
	long := strings.Repeat("é", maxWord)
	if got := short(long); got != long {
		t.Error(got)
	}
	if got, want := short(long+"é"), strings.Repeat("é", maxWord-1)+"…"; got != want {
		t.Error(got)
	}
}

// saidOf returns the warnings about a command.
func saidOf(command string, args []string, f findings) []string {
	var w warnings
	w.command(command, args, f)
	return slices.Concat(w.worst, w.others)
}

// However a line of arguments is made up, nothing of it is out of bounds.
func FuzzWarnings(f *testing.F) {
	f.Add("npx", "-p\n\n-p")
	f.Add("env", "env\nenv\nsudo\nnpx\n-c")
	f.Add("uv", "tool")
	f.Fuzz(func(t *testing.T, command, args string) {
		for _, w := range saidOf(command, strings.Split(args, "\n"), findings{}) {
			if w == "" {
				t.Error("an empty warning")
			}
		}
	})
}
