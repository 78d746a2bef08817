package trust

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// asked returns what a person is asked about an entry of a project, whose programs are
// there.
func asked(t *testing.T, dir string, entry map[string]any) Approval {
	t.Helper()
	bin := t.TempDir()
	command := entry["command"].(string)
	entry["command"] = filepath.Join(bin, command)
	if err := os.WriteFile(filepath.Join(bin, command), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": entry}})
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	all := config.Discover(dir).Servers
	if len(all) != 1 {
		t.Fatal(string(text))
	}
	a, err := open(t).Look(t.Context(), all[0])
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A person is told of each command line whose code can change without them.
func TestWhatIsNotPinnedIsTold(t *testing.T) {
	dir := written(t, map[string]string{
		"server.py": "", "server.js": "", "x.py": "", "x.rb": "", "x.pl": "", "x.lua": "", "x.php": "", "x.json": "", "x.sh": "", "Foo.pm": "", "pkg/__main__.py": "", "sub/server.js": "", "app/main.py": "", "app/lib/__init__.py": "",
	})
	told := func(w string) bool {
		for _, says := range []string{"is not pinned", "can change without you", "read them all", "read it to its end"} {
			if strings.Contains(w, says) {
				return true
			}
		}
		return false
	}
	for line, want := range map[string]bool{
		"uvicorn server:app": true, "uvicorn --factory app.main:make": true, "gunicorn": true, "fastmcp run x.py:mcp": true, "mcp run x.py": true,
		"vite-node server.js": true, "never-heard-of server:app": true, "never-heard-of app.main": true, "never-heard-of --dir=sub": true, "never-heard-of -csub": true,
		"socat STDIO EXEC:./x.sh": true, "socat STDIO EXEC:/opt/x": true, "ssh -o ProxyCommand=./x.sh host": true, "git -c core.sshCommand=x fetch": true,
		"python3 -um pkg x.json": true, "python3 -m pkg": true, "python3 -X pycache_prefix=c x.py": true, "php -d auto_prepend_file=x.php server.py": true,
		"ruby -rjson x.rb": true, "ruby -I. x.rb": true, "perl -I. -MFoo x.pl": true, "perl -MFoo x.pl": true, "lua -l other x.lua": true,
		"env -C sub node server.js": true, "env -u X --foo node server.js": true, "env -S node\u00a0'server.js'": true, "timeout -s KILL 5 node nothing": true, "sudo -u me node nothing": true, "flock x.json node nothing": true,
		"flock x.json -c ./x.sh": true, "nice -n 5 node nothing": true, "stdbuf -oL node nothing": true, "env env env env env env node server.js": true,
		"node --env-file=.env server.js": true, "node --import tsx server.js": true, "node -r ./nothing server.js": true, "node --inspect server.js": true,
		"java -Dx=y -jar x.jar": true, "java @args x.jar": true, "deno task server.js": true, "bun server": true, "bash --rcfile x.sh -i": true, "never-heard-of node nothing": true,
		"docker-compose up": true, "never-heard-of app.lib:x": true,
		"env NODE_OPTIONS=-r./x.js node server.js": true, "cross-env A=b LD_PRELOAD=./x.so node server.js": true, "npx -p ./sub@1.2.3 x": true, "npx file:sub@1.2.3": true, "uvx --from sub/x==1.2.3 x": true, "npx --prefix sub server@1.2.3": true,

		"node server.js": false, "node ./server": false, "node --no-warnings server.js ./x.json": false, "python3 -u x.py": false, "python3 -uB x.py --foo": false,
		"ruby -r./x x.rb": false, "perl -w x.pl": false, "lua -l x x.lua": false, "env -u X A=b node server.js": false, "timeout -s KILL 5 node server.js": false,
		"sudo -u me node server.js": false, "nice -n 5 node server.js": false, "stdbuf -oL node server.js": false, "flock x.json node server.js": false,
		"never-heard-of --root /opt": false, "never-heard-of notes": false, "npx -y server@1.2.3 /opt": false, "uvx server==1.2.3": false, "uvx --from mcp[cli]==1.2.3 x": false, "npx @a/b@1.2.3-rc.1": false, "npx github:a/b#0123456789012345678901234567890123456789": false,
	} {
		words := strings.Split(line, " ")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\u00a0", " ") // of one argument
		}
		a := asked(t, dir, map[string]any{"command": words[0], "args": words[1:]})
		if slices.ContainsFunc(a.Warnings, told) != want {
			t.Errorf("%s: %q", line, a.Warnings)
		}
	}
}

// The table says nothing that its reader does not know.
func TestTableOfPrograms(t *testing.T) {
	roles := []string{wrapper, interpreter, shell, fetcher, container, builder, carrier}
	meanings := []string{"", "value", aDoubt, aCode, aMain, aModule, aPath, aText, aLine, aPackage}
	for name, p := range programs() {
		if name == "" || strings.ContainsAny(name, ":;#") || !slices.Contains(roles, p.is) {
			t.Errorf("%q: %+v", name, p)
		}
		for _, arg := range strings.Fields(p.args) {
			if pattern, means, _ := strings.Cut(arg, "="); !slices.Contains(meanings, means) || strings.Trim(pattern, "-/") == "" {
				t.Errorf("%s: %q", name, arg)
			}
		}
	}
	for line := range strings.Lines(table) {
		for _, field := range strings.Split(strings.TrimSpace(line), "; ")[1:] {
			if key, _, _ := strings.Cut(field, ":"); line[0] != '#' && !slices.Contains([]string{"args", "as", "reads", "assigns", "skips", "verbs", "modules"}, key) {
				t.Errorf("%q", field)
			}
		}
	}
}

// What has a say in which code runs is pinned wherever a wrapper or an option stands
// before it.
func TestPinsBehindOptions(t *testing.T) {
	dir := written(t, map[string]string{"server.js": "", "x.py": "", "x.rb": "", "x.lua": "", "pkg/__main__.py": "", "app/main.py": ""})
	for line, want := range map[string]string{
		"uvicorn app.main:app": "app/main.py", "fastmcp run x.py:mcp": "x.py", "never-heard-of EXEC:./server.js": "server.js", "python3 -um pkg": "pkg/__main__.py",
		"ruby -r./x nothing": "x.rb", "lua -l x nothing": "x.lua", "env -u X -C / node server": "server.js", "timeout -s KILL 5 node server": "server.js",
		"sudo -u me node server": "server.js", "stdbuf -oL nice -n 5 node server": "server.js", "flock lock node server": "server.js", "sh -c cd\u00a0.;node\u00a0server": "server.js",
	} {
		words := strings.Split(line, " ")
		words[len(words)-1] = strings.ReplaceAll(words[len(words)-1], "\u00a0", " ") // of one argument
		if got := pinsOf(t, dir, dir, "/usr/bin/"+words[0], words[1:]...); !strings.Contains(got, want) {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// What npx finds in the folders above the one it runs in counts too.
func TestPackagesAboveTheFolder(t *testing.T) {
	top := written(t, map[string]string{"package.json": "{}", ".npmrc": "", "node_modules/.bin/server": "", "project/a/b/x": "", "project/a/node_modules/.bin/other": "", "project/a/.npmrc": ""})
	dir := filepath.Join(top, "project")
	a := asked(t, dir, map[string]any{"command": "npx", "args": []string{"other@1.2.3"}, "cwd": "a/b"})
	if f := a.fact("files"); f == nil || !slices.Equal(f.Values, []string{"a/.npmrc", "a/node_modules/.bin/other"}) {
		t.Errorf("%+v", f)
	}
	if !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "not pinned") }) {
		t.Errorf("%q", a.Warnings)
	}
}

// The files of the home folder, and those above it, count for all programs of the user.
func TestFilesOfTheHomeFolder(t *testing.T) {
	top := repo(t, "home/.npmrc", ".npmrc", "home/project/x")
	dir := filepath.Join(top, "home", "project")
	for home, want := range map[string]string{"home": "", "elsewhere": "home/.npmrc .npmrc"} {
		for _, name := range []string{"HOME", "USERPROFILE", "home"} {
			t.Setenv(name, filepath.Join(top, home))
		}
		f, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/npx", []string{"server@1.2.3"}, nil)
		if got := strings.ReplaceAll(strings.Join(f.unpinned, " "), top+string(filepath.Separator), ""); filepath.ToSlash(got) != want || err != nil {
			t.Errorf("%s: %q, %v", home, got, err)
		}
	}
}

// The variables that have programs load code are told of, by their names or by what
// they lead to, and the worst of them first.
func TestWarningsOfVariables(t *testing.T) {
	dir := written(t, map[string]string{"x.js": "", "env/x": ""})
	env := map[string]string{"LD_PRELOAD": "./x.so", "NODE_OPTIONS": "-r ./x.js", "OTHER": "--load=./x.js", "NODE_ENV": "env", "PLAIN": "a.b/c"}
	for _, name := range []string{"NODE_COMPILE_CACHE", "ERL_FLAGS", "JULIA_LOAD_PATH", "GUILE_LOAD_PATH", "AWKPATH", "PYENV_VERSION"} {
		env[name] = "x"
	}
	for i := range 20 {
		env["AWS_ENDPOINT_URL_"+string(rune('A'+i))] = "x"
	}
	args := []string{"exec", "-y"}
	for _, name := range strings.Split("abcdefghijklmn", "") {
		args = append(args, "--package="+name)
	}
	a := asked(t, dir, map[string]any{"command": "npm", "args": append(args, "x"), "env": env})
	at := func(name string) int {
		return slices.IndexFunc(a.Warnings, func(w string) bool { return strings.HasPrefix(w, name+" ") })
	}
	for name := range env {
		if (at(name) < 0) != (name == "NODE_ENV" || name == "PLAIN") {
			t.Errorf("%s: %q", name, a.Warnings)
		}
	}
	for _, name := range []string{"LD_PRELOAD", "NODE_OPTIONS", "NODE_COMPILE_CACHE"} {
		if at(name) > 5 {
			t.Errorf("%s is warned of at place %d", name, at(name))
		}
	}
	for _, f := range a.Shown() {
		if f.Name == "environment" && !slices.Equal(f.Values[:3], []string{"LD_PRELOAD", "NODE_COMPILE_CACHE", "NODE_OPTIONS"}) {
			t.Errorf("%q", f.Values)
		}
	}
}

// The question says that the server runs without the sandbox that its client starts it in.
func TestALostSandboxIsTold(t *testing.T) {
	for _, sandboxed := range []bool{true, false} {
		a := asked(t, t.TempDir(), map[string]any{"command": "node", "sandboxEnabled": sandboxed})
		if slices.Contains(a.Warnings, config.NoSandbox) != sandboxed {
			t.Errorf("sandboxEnabled is %t, warnings %q", sandboxed, a.Warnings)
		}
	}
}
