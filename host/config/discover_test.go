package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// project makes a folder with files, and returns it without links.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func listed(servers []Server) string {
	list := make([]string, len(servers))
	for i, s := range servers {
		list[i] = s.Name
	}
	return strings.Join(list, " ")
}

const oneServer = `{"mcpServers": {"%s": {"command": "x"}}}`

func TestDiscoverFindsTheUsualFiles(t *testing.T) {
	dir := project(t, map[string]string{
		"wharf.toml":       "[servers.native]\ncommand = \"x\"\n",
		".mcp.json":        fmt.Sprintf(oneServer, "shared"),
		".vscode/mcp.json": `{"servers": {"editor": {"command": "x"}}, "inputs": []}`,
		".cursor/mcp.json": fmt.Sprintf(oneServer, "cursor"),
		".github/mcp.json": fmt.Sprintf(oneServer, "hub"),
		"mcp.json":         fmt.Sprintf(oneServer, "not-named"),

		".opencode/opencode.jsonc": `{"mcp": {"open": {"type": "local", "command": ["x"]}}, "tools": {"open_die": false}}`,
		".opencode/config.json":    `{"mcp": {"not-read": {"type": "local", "command": ["x"]}}}`,
	})
	d := Discover(dir)
	if got := listed(d.Servers); got != "native shared editor cursor hub open" || len(d.Files) != 6 || len(d.Warnings) > 0 {
		t.Errorf("servers %s, files %q, warnings %q", got, d.Files, d.Warnings)
	}
	if s := d.Servers[2]; *s.Project != (Project{dir, ".vscode/mcp.json"}) || s.Dir != dir {
		t.Errorf("%+v of %+v", s, s.Project)
	}
	if s := d.Servers[5]; *s.Project != (Project{dir, ".opencode/opencode.jsonc"}) || s.Dir != dir || s.Permits("die") {
		t.Errorf("%+v of %+v", s, s.Project)
	}
}

func TestDiscoverLooksUpToTheRepository(t *testing.T) {
	top := project(t, map[string]string{
		".mcp.json":        fmt.Sprintf(oneServer, "above"),
		"repo/.git/config": "[core]",
		"repo/.mcp.json":   `{"mcpServers": {"root": {"command": "x"}, "Both": {"command": "root"}}}`,
		"repo/a/.mcp.json": `{"mcpServers": {"near": {"command": "x"}, "both": {"command": "near"}}}`,
		"repo/a/b/file":    "",
		"tree/.git":        "gitdir: /somewhere/else",
		"tree/.mcp.json":   fmt.Sprintf(oneServer, "tree"),
		"tree/sub/file":    "",
		"loose/.mcp.json":  fmt.Sprintf(oneServer, "loose"),
		"loose/sub/file":   "",
		"open/.git/x":      "",
		"open/.mcp.json":   fmt.Sprintf(oneServer, "open"),
		"open/sub/file":    "",
		"home/.git/x":      "",
		"home/.mcp.json":   fmt.Sprintf(oneServer, "home"),
		"home/sub/file":    "",
	})
	if err := os.Chmod(filepath.Join(top, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(top, "home"))
	for dir, want := range map[string]string{
		"repo/a/b":  "near both root",
		"repo":      "root Both",
		"tree/sub":  "tree",
		"loose/sub": "",
		"loose":     "loose",
		"open/sub":  "", // anybody could have put the file there
		"home/sub":  "", // what lies in the home folder is no project's
		"home":      "home",
	} {
		if d := Discover(filepath.Join(top, dir)); listed(d.Servers) != want {
			t.Errorf("%s: %s; want %s; warnings %q", dir, listed(d.Servers), want, d.Warnings)
		}
	}
	if d := Discover(filepath.Join(top, "repo/a/b")); len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "goes first") {
		t.Errorf("two of one name: %q", d.Warnings)
	}
}

// In the folder of a file of one's own, that file is no project's, whatever way leads to it.
func TestOwnFilesAreNoProjects(t *testing.T) {
	const entry = "[servers.mine]\ncommand = \"x\"\n[serve]\nhosts = [\"x\"]\n[plugins.x]\nfile = \"x\"\n"
	top := project(t, map[string]string{
		"home/.config/opencode/opencode.json": `{"mcp": {"mine": {"type": "local", "command": ["x"]}}}`,
		"home/.gemini/settings.json":          fmt.Sprintf(oneServer, "mine"),
		"home/.opencode/opencode.json":        `{"mcp": {"mine": {"type": "local", "command": ["x"]}}}`,
		"home/.config/crush/crush.json":       `{"mcp": {"mine": {"type": "stdio", "command": "x"}}}`,
		"elsewhere/opencode.json":             `{"mcp": {"mine": {"type": "local", "command": ["x"]}}}`,
		"dotfiles/.git/config":                "[core]",
		"dotfiles/wharf/wharf.toml":           entry,
		"dotfiles/wharf/sub/file":             "",
		"shop/wharf.toml":                     "[servers.shop]\ncommand = \"x\"\n",
	})
	home := filepath.Join(top, "home")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("AppData", filepath.Join(home, "AppData"))
	t.Setenv("OPENCODE_CONFIG_DIR", filepath.Join(top, "elsewhere"))
	own, err := UserPath()
	if err != nil {
		t.Fatal(err)
	}
	if d := Discover(filepath.Join(top, "dotfiles/wharf")); listed(d.Servers) != "mine" {
		t.Errorf("a file that is not the user's own yet: %s; warnings %q", listed(d.Servers), d.Warnings)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(own)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "dotfiles", "wharf"), filepath.Dir(own)); err != nil {
		t.Skip(err)
	}
	for _, dir := range []string{filepath.Dir(own), filepath.Join(top, "dotfiles/wharf/sub"), home, filepath.Join(home, ".config/opencode"), filepath.Join(home, ".opencode"), filepath.Join(home, ".config/crush"), filepath.Join(top, "elsewhere")} {
		if d := Discover(dir); len(d.Files) > 0 || len(d.Servers) > 0 || len(d.Warnings) > 0 {
			t.Errorf("%s: files %q, servers %s, warnings %q", dir, d.Files, listed(d.Servers), d.Warnings)
		}
	}
	if d := Discover(filepath.Join(top, "shop")); listed(d.Servers) != "shop" {
		t.Errorf("a project: %s; warnings %q", listed(d.Servers), d.Warnings)
	}
}

func TestDiscoverStaysInTheFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links")
	}
	outside := project(t, map[string]string{"mcp.json": fmt.Sprintf(oneServer, "stranger"), "d/mcp.json": fmt.Sprintf(oneServer, "stranger")})
	for name, make := range map[string]func(dir string) error{
		"a link out":            func(dir string) error { return os.Symlink(filepath.Join(outside, "mcp.json"), dir+"/.mcp.json") },
		"a relative link out":   func(dir string) error { return os.Symlink("../../../../../../../../etc/passwd", dir+"/.mcp.json") },
		"a folder that is away": func(dir string) error { return os.Symlink(filepath.Join(outside, "d"), dir+"/.cursor") },
		"a link to itself":      func(dir string) error { return os.Symlink(".mcp.json", dir+"/.mcp.json") },
		"a folder":              func(dir string) error { return os.Mkdir(dir+"/.mcp.json", 0o755) },
		"a device":              func(dir string) error { return os.Symlink("/dev/zero", dir+"/.mcp.json") },
	} {
		dir := project(t, nil)
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		if d := Discover(dir); len(d.Servers) > 0 || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "left out") {
			t.Errorf("%s: servers %s, warnings %q", name, listed(d.Servers), d.Warnings)
		}
	}
	dir := project(t, map[string]string{"config/mcp.json": fmt.Sprintf(oneServer, "ours")})
	if err := os.Symlink("config/mcp.json", dir+"/.mcp.json"); err != nil {
		t.Fatal(err)
	}
	if d := Discover(dir); listed(d.Servers) != "ours" {
		t.Errorf("a link within the folder: %q", d.Warnings)
	}
}

func TestDiscoverIsBounded(t *testing.T) {
	many := func(entry string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, entry, i)
		}
		return b.String()
	}
	for name, files := range map[string]map[string]string{
		"a huge file":      {".mcp.json": `{"mcpServers": {"a": {"command": "` + strings.Repeat("x", maxProjectFile) + `"}}}`},
		"no configuration": {".mcp.json": "[]", "wharf.toml": "servers = 7"},
		"deep tables":      {"wharf.toml": "x = " + strings.Repeat("{a = ", 20_000)},
		"deep lists":       {".mcp.json": strings.Repeat("[", 100_000)},
		"useless servers":  {".mcp.json": `{"mcpServers": {` + many(`"s%d": {},`, 8000) + `}}`},
	} {
		if d := Discover(project(t, files)); len(d.Servers) > 0 || len(d.Warnings) == 0 || len(d.Warnings) > maxProjectWarned+2 {
			t.Errorf("%s: servers %s, warnings %d: %.300q", name, listed(d.Servers), len(d.Warnings), d.Warnings)
		}
	}
	d := Discover(project(t, map[string]string{"wharf.toml": strings.Repeat("#", maxProjectFile+1)}))
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "it is larger than 128 KiB") {
		t.Errorf("warnings %q", d.Warnings)
	}
	d = Discover(project(t, map[string]string{".mcp.json": `{"mcpServers": {` + many(`"s%d": {"command": "x"},`, 300) + `}}`}))
	if len(d.Servers) != maxProjectServers || len(d.Warnings) != 1 {
		t.Errorf("%d servers, warnings %q", len(d.Servers), d.Warnings)
	}
}

// Many large files in many folders are not read: those that are nearest count.
func TestDiscoverReadsLittle(t *testing.T) {
	files := map[string]string{".git/HEAD": ""}
	folder := ""
	for i := range 20 {
		padding := strings.Repeat(" ", maxProjectFile-200)
		files[folder+".mcp.json"] = fmt.Sprintf(`{"mcpServers": {"s%d": {"command": "x"}}%s}`, i, padding)
		folder += "d/"
	}
	d := Discover(filepath.Join(project(t, files), filepath.FromSlash(folder[:len(folder)-2])))
	if got := listed(d.Servers); got != "s19 s18 s17 s16" {
		t.Errorf("servers %s", got)
	}
	if len(d.Warnings) != 1 || !strings.HasSuffix(d.Warnings[0], "have more than 512 KiB; 16 of them are left out") {
		t.Errorf("%d warnings: %.300q", len(d.Warnings), d.Warnings)
	}
}

// What a project file says about names is shown to people before anybody has
// looked at it.
func TestDiscoverWarnsOnOneLine(t *testing.T) {
	d := Discover(project(t, map[string]string{
		".mcp.json": `{"mcpServers": {"a\nerror: fine": {"command": "x"}, "b\u001b[2J": {"command": "x"}, "c\u202e\u3164": {"command": "x"}, "d": {"command": "x", "k\u200b\n": 1}}}`,
	}))
	said := slices.Concat(d.Warnings, d.Notes)
	if listed(d.Servers) != "d" || len(said) != 4 {
		t.Errorf("servers %s, warnings %q", listed(d.Servers), said)
	}
	for _, w := range said {
		if strings.ContainsAny(w, "\n\x1b\u202e\u200b\u3164") {
			t.Errorf("%q", w)
		}
	}
}

func TestProjectGrantsNothing(t *testing.T) {
	for entry, field := range map[string]string{
		`{"command": "${SHELL}"}`:                                               "command",
		`{"command": "x", "cwd": "${HOME}"}`:                                    "cwd",
		`{"type": "pigeon", "address": "unix:${XDG_RUNTIME_DIR}/x"}`:            "address",
		`{"url": "https://${HOST}/mcp"}`:                                        "url",
		`{"url": "https://evil.example${X}"}`:                                   "url",
		`{"url": "https://good.example\\${X}"}`:                                 "url",
		`{"url": "https://me:${TOKEN}@evil.example/"}`:                          "url",
		`{"url": "${URL}"}`:                                                     "url",
		`{"type": "http", "url": "${SCHEME:-https}://x/"}`:                      "url",
		`{"type": "http", "url": "unix:///run/${X}.sock#/mcp"}`:                 "url",
		`{"command": "x", "envFile": "/etc/passwd"}`:                            "envFile",
		`{"command": "x", "envFile": "../.env"}`:                                "envFile",
		`{"command": "x", "envFile": "${HOME}/.env"}`:                           "envFile",
		`{"command": "x", "messageCap": "1GiB"}`:                                "messageCap",
		`{"command": "x", "resend": true}`:                                      "resend",
		`{"url": "https://x", "headersHelper": "cat ~/.ssh/id_rsa"}`:            "headersHelper",
		`{"url": "https://x", "oauth": {"authServerMetadataUrl": "https://y"}}`: "auth.metadata_url",
		`{"url": "https://x", "auth": "corp-sso"}`:                              "auth.provider",
		`{"url": "https://x", "auth": "helper"}`:                                "auth.provider",
		`{"url": "https://x", "oauth": {"clientSecret": {"file": "/etc/x"}}}`:   "auth.client_secret",
		`{"url": "https://x", "oauth": {"clientSecret": {"secret": "mine"}}}`:   "auth.client_secret",
	} {
		d := Discover(project(t, map[string]string{".mcp.json": `{"mcpServers": {"s": ` + entry + `}}`}))
		if len(d.Servers) > 0 || len(d.Warnings) == 0 || !strings.Contains(d.Warnings[0], "server s: "+field+": ") {
			t.Errorf("%s: servers %s, warnings %q", entry, listed(d.Servers), d.Warnings)
		} else if why := d.LeftOut["s"]; why == nil || !strings.HasPrefix(why.Error(), d.Files[0]+": "+field+": ") || strings.Contains(why.Error(), "left out") {
			t.Errorf("%s: left out for %v", entry, why)
		}
	}
	for entry, field := range map[string]string{
		"url = \"https://x\"\nproxy = \"http://evil\"":                                            "proxy",
		"url = \"https://x\"\ntls = { ca = \"evil.pem\" }":                                        "tls",
		"url = \"https://x\"\ntls = { cert = \"a\", key = \"/home/me/key\" }":                     "tls",
		"url = \"https://x\"\nauth = { provider = \"bearer\", token = { file = \"/etc/x\" } }":    "auth.token",
		"url = \"https://x\"\nauth = { provider = \"bearer\", token = { secret = \"mine\" } }":    "auth.token",
		"url = \"https://x\"\nsampler = [\"evil\"]":                                               "sampler",
		"url = \"https://x\"\nauth = { provider = \"helper\", command = [\"evil\"] }":             "auth.command",
		"command = \"x\"\nauth = { provider = \"bearer\", token = \"x\", variables = [\"T\"] }":   "auth.variables",
		"transport = \"p\"\naddress = \"tcp:x:1\"\nauth = { provider = \"bearer\", blob = true }": "auth.blob",
	} {
		d := Discover(project(t, map[string]string{"wharf.toml": "[servers.s]\n" + entry + "\n"}))
		if len(d.Servers) > 0 || len(d.Warnings) == 0 || !strings.Contains(d.Warnings[0], "server s: "+field+": ") || !strings.Contains(d.Warnings[0], grantsNothing) {
			t.Errorf("%s: servers %s, warnings %q", entry, listed(d.Servers), d.Warnings)
		}
	}
}

func TestProjectBringsNoPlugins(t *testing.T) {
	d := Discover(project(t, map[string]string{
		"wharf.toml": "[plugins.evil]\nfile = \"evil.wasm\"\norigins = [\"https://evil\"]\n[servers.s]\ntransport = \"evil\"\n",
	}))
	if listed(d.Servers) != "s" || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "plugin evil: "+grantsNothing) {
		t.Errorf("servers %s, warnings %q", listed(d.Servers), d.Warnings)
	}
}

// A project may make a plugin stricter, which needs no approval, and never looser.
func TestProjectIsolates(t *testing.T) {
	for entry, want := range map[string]string{
		`isolation = "process"`:                      "",
		`isolation = "none"`:                         grantsNothing,
		"isolation = \"process\"\nfile = \"p.wasm\"": grantsNothing,
		"isolation = \"process\"\ndiscover = true":   "is left out",
		"isolation = \"process\"\norigins = [\"x\"]": "is left out",
		`isolation = "thread"`:                       "is left out",
		"isolation = \"process\"\nsha256 = \"0\"":    "is left out",
	} {
		d := Discover(project(t, map[string]string{"wharf.toml": "[plugins.stdio]\n" + entry + "\n"}))
		isolated := len(d.Isolated) == 1 && d.Isolated[0] == "stdio" && len(d.Warnings) == 0
		if isolated != (want == "") || !isolated && !strings.Contains(strings.Join(d.Warnings, " "), want) {
			t.Errorf("%s: isolated are %v, warnings %q", entry, d.Isolated, d.Warnings)
		}
	}
}

func TestProjectPathsCountFromTheFolder(t *testing.T) {
	dir := project(t, map[string]string{".vscode/mcp.json": `{"servers": {
		"bare":  {"command": "npx", "args": ["${workspaceFolder}/x", "$${workspaceFolder}", "${HOME}", "${env:HOME}"]},
		"near":  {"command": "./bin/x"},
		"sub":   {"command": "./bin/x", "cwd": "sub"},
		"up":    {"command": "../x", "cwd": "/elsewhere"},
		"words": {"command": "${userHome}/x", "cwd": "${workspaceFolder}/a", "env": {"A": "${workspaceFolderBasename}"}}
	}}`})
	home := filepath.Join(dir, "home")
	for i, want := range []struct{ command, dir string }{
		{"npx", dir},
		{dir + "/bin/x", dir},
		{dir + "/sub/bin/x", dir + "/sub"},
		{"/x", "/elsewhere"},
		{home + "/x", dir + "/a"},
	} {
		s := Discover(dir).Servers[i]
		if filepath.ToSlash(s.Command) != filepath.ToSlash(want.command) || s.Dir != want.dir {
			t.Errorf("%s: %s in %s; want %+v", s.Name, s.Command, s.Dir, want)
		}
	}
	servers := Discover(dir).Servers
	if got := servers[0].Args; !slices.Equal(got, []string{dir + "/x", "$$" + dir, "$${HOME}", "${env:HOME:-}"}) {
		t.Errorf("args %q", got)
	}
	if got := servers[4].Env["A"]; got != filepath.Base(dir) {
		t.Errorf("env %q", got)
	}
}

// To VS Code null takes a variable away, and to others it is the variable of the host.
func TestVariableOfNull(t *testing.T) {
	for name, want := range map[string]string{".vscode/mcp.json": `{"servers":`, "mcphub/servers.json": `{"mcpServers":`} {
		file, err := Parse(name, []byte(want+` {"a": {"command": "x", "env": {"N": null, "M": "m"}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, given := file.Servers[0].Env["N"]; given != (name != ".vscode/mcp.json") {
			t.Errorf("%s: %q", name, file.Servers[0].Env)
		}
	}
}

func TestNothingIsLookedUpBeforeRelease(t *testing.T) {
	dir := project(t, map[string]string{".mcp.json": `{"mcpServers": {"s": {"command": "x",
		"args": ["${A}", "${B:-b}", "${run: id}"], "env": {"C": null, "D": "$$"}}}}`,
		"wharf.toml": "[servers.t]\nurl = \"https://x/${PATH}?k=${KEY}\"\nheaders = { H = \"${env:TOKEN}\" }\nauth = { client_secret = { env = \"SECRET\" } }\n"})
	d := Discover(dir)
	never := func(name string) (string, bool) { t.Errorf("%s is looked up", name); return "", true }
	for _, s := range d.Servers {
		if out, err := s.Expand(never); err != nil || out.Project == nil {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
	if got := d.Servers[0].Variables(); !slices.Equal(got, []string{"KEY", "PATH", "SECRET", "TOKEN"}) {
		t.Errorf("variables %q", got)
	}
	if got := d.Servers[1].Variables(); !slices.Equal(got, []string{"A", "B", "C"}) {
		t.Errorf("variables %q", got)
	}
	env := map[string]string{"A": "${B}", "B": "x", "C": "c"}
	look := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	s := d.Servers[1]
	s.Args = s.Args[:2]
	out, err := s.Release([]string{"A", "C"}, look)
	if err != nil || out.Project != nil || !slices.Equal(out.Args, []string{"${B}", "b"}) || !maps.Equal(out.Env, map[string]string{"C": "c", "D": "$$"}) {
		t.Errorf("%+v, %v", out, err)
	}
	if claim, ok := out.Claim(); !ok || claim.Project == nil || claim.Args[0] != "${A}" {
		t.Errorf("claim %+v, %v", claim, ok)
	}
	if _, err := s.Release([]string{"A"}, look); err == nil || !strings.Contains(err.Error(), "variable C is not set") {
		t.Errorf("a variable that was not allowed: %v", err)
	}
	if _, err := d.Servers[1].Release([]string{"A", "C", "cmd: id"}, look); err == nil || !strings.Contains(err.Error(), "names no variable") {
		t.Errorf("a command: %v", err)
	}
}

func TestOwnEntriesGoFirst(t *testing.T) {
	d := Discover(project(t, map[string]string{".mcp.json": `{"mcpServers": {"files": {"command": "x"}, "new": {"command": "x"}}}`}))
	servers, warnings := d.Beneath([]Server{{Name: "Files", Command: "mine", file: "wharf.toml"}})
	if listed(servers) != "new" || len(warnings) != 1 || !strings.Contains(warnings[0], "of your own") {
		t.Errorf("servers %s, warnings %q", listed(servers), warnings)
	}
}

// Whatever stands in a project file, the entries that it leads to have nothing
// that only a user may give.
func FuzzProject(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*/*.*")
	for _, path := range paths {
		if data, err := os.ReadFile(path); err == nil && filepath.Ext(path) != ".golden" {
			f.Add(data, filepath.Ext(path) == ".toml")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, native bool) {
		name := ".mcp.json"
		if native {
			name = "wharf.toml"
		}
		file, err := Parse(name, data)
		if err != nil {
			return
		}
		d := new(Discovery)
		d.take(Project{"/project", name}, file)
		for _, s := range d.Servers {
			if s.Project == nil || s.Proxy != "" || s.TLS != (TLS{}) || len(s.Auth.Command) > 0 || s.Auth.Blob || s.Auth.RequestBody || s.MessageCap != 0 ||
				len(s.Auth.Variables) > 0 || strings.Contains(s.Command+s.Dir+s.Address, "$") || s.Command != "" && !filepath.IsAbs(s.Dir) {
				t.Errorf("accepted %+v", s)
			}
			for _, setting := range s.Auth.Settings {
				if r, ok := setting.(Reference); ok && (r.File != "" || r.Secret != "") {
					t.Errorf("accepted %+v", s)
				}
			}
			before, _, _ := strings.Cut(s.URL, "$")
			if u := strings.TrimPrefix(strings.TrimPrefix(before, "https://"), "http://"); before != s.URL && !strings.ContainsAny(u, "/?#") {
				t.Errorf("accepted %q", s.URL)
			}
		}
	})
}

// The secrets of the user's vault are for entries of their own.
func TestProjectGetsNoSecrets(t *testing.T) {
	for _, entry := range []string{
		`{"command": "x", "args": ["a", "${secret:github}"]}`,
		`{"command": "x", "env": {"A": "$$${secret:github}"}}`,
		`{"url": "https://x", "headers": {"A": "Bearer ${secret:github}"}}`,
		`{"url": "https://x/${secret:github}"}`,
		`{"type": "pigeon", "address": "tcp:x:1", "settings": {"a": "${secret:github}"}}`,
		`{"url": "https://x", "oauth": {"clientId": "${secret:github}"}}`,
	} {
		d := Discover(project(t, map[string]string{".mcp.json": `{"mcpServers": {"s": ` + entry + `}}`}))
		if len(d.Servers) != 1 || len(d.Servers[0].Secrets()) > 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "is the text ${secret:github}, as in Claude Code") {
			t.Errorf("%s: servers %+v, notes %q", entry, d.Servers, d.Notes)
		}
	}
	for _, entry := range []string{
		`command = "x"
args = ["a", "${secret:github}"]`,
		`command = "x"
env = { A = "$$${secret:github}" }`,
		`url = "https://x"
headers = { A = "Bearer ${secret:github}" }`,
		`url = "https://x/${secret:github}"`,
	} {
		d := Discover(project(t, map[string]string{"wharf.toml": "[servers.s]\n" + entry}))
		want := `server s: it means the secret "github" of your vault; ` + grantsNothing
		if len(d.Servers) > 0 || len(d.Warnings) == 0 || !strings.Contains(d.Warnings[0], want) {
			t.Errorf("%s: servers %s, warnings %q", entry, listed(d.Servers), d.Warnings)
		}
	}
	s := Server{Name: "s", Command: "x", Args: []string{"${A}", "${secret:github}"}, Project: &Project{Folder: t.TempDir(), File: ".mcp.json"}}
	if out, err := s.Release([]string{"A"}, func(string) (string, bool) { return "", true }); err == nil || out.Command != "" {
		t.Errorf("released as %+v, %v", out, err)
	}
}

// A file that cannot be read is told of with the servers that it may have too.
func TestUnreadFilesGoFirst(t *testing.T) {
	d := Discover(project(t, map[string]string{
		"wharf.toml":       "[servers.Team]\n<<<<<<<\n[servers.'x.y']\n",
		".mcp.json":        `{"mcpServers": {"team": {"command": "a"}, "x.y": {"command": "a"}, "tea": {"command": "a"}, "ours": {"command": "a"}}}`,
		".cursor/mcp.json": "ours",
	}))
	if names := slices.Sorted(maps.Keys(d.Behind)); !slices.Equal(names, []string{"team", "x.y"}) {
		t.Errorf("%q", names)
	}
}

// The blocks of a project in Continue are its servers, in YAML or as JSON of another client.
func TestDiscoverBlocks(t *testing.T) {
	dir := project(t, map[string]string{
		".continue/mcpServers/a.yaml": "name: A\nversion: 0.0.1\nmcpServers:\n  - name: one\n    command: x\n",
		".continue/mcpServers/b.json": `{"mcpServers": {"two": {"command": "x"}}}`,
		".continue/mcpServers/c.md":   "# none",
	})
	if d := Discover(dir); listed(d.Servers) != "one two" || len(d.Warnings) > 0 {
		t.Errorf("%s; %q", listed(d.Servers), d.Warnings)
	}
}

// What one file of a project forbids to a server, another file that has the same server does not allow; of two agents
// each has its own tools.
func TestProjectFilesForbidTogether(t *testing.T) {
	const p, files = `"command": "node", "args": ["s.js"]`, `{"mcpServers": {"p": {%s}}}`
	for _, tt := range []struct{ first, second, permitted, remedy string }{
		{p, p + `, "disabledTools": ["rm"]`, "get put", `take "rm" out of the entry of p in `},
		{p + `, "disabledTools": ["get"]`, p + `, "disabledTools": ["rm", "get"]`, "put", `take "rm" out of the entry of p in `},
		{p, p + `, "enabledTools": ["get"]`, "get", ""},
		{p + `, "enabledTools": ["get", "rm"]`, p + `, "enabledTools": ["put", "rm"]`, "rm", ""},
		{p, p + `, "disabled": true`, "disabled", ""},
		{p, p + `, "env": {"A": "b"}, "disabledTools": ["rm"]`, "get put rm", ""},
		{p, `"command": "node", "args": ["t.js"], "disabled": true`, "get put rm", ""},
	} {
		dir := project(t, map[string]string{".mcp.json": fmt.Sprintf(files, tt.first), ".cursor/mcp.json": fmt.Sprintf(files, tt.second)})
		d := Discover(dir)
		if len(d.Servers) != 1 || len(d.Warnings) != 1 {
			t.Fatalf("%s: servers %s, warnings %q", tt.second, listed(d.Servers), d.Warnings)
		}
		s := &d.Servers[0]
		permitted := strings.Join(slices.DeleteFunc(strings.Fields("get put rm"), func(tool string) bool { return !s.Permits(tool) }), " ")
		if s.Disabled {
			permitted = "disabled"
			if want := "enable it in " + filepath.Join(dir, ".cursor", "mcp.json"); filepath.FromSlash(s.Remedy("")) != want {
				t.Errorf("%s: the remedy is %q, want %q", tt.second, s.Remedy(""), want)
			}
		}
		if permitted != tt.permitted || !strings.HasPrefix(s.Remedy("rm"), tt.remedy) {
			t.Errorf("%s: permits %q, want %q; %q", tt.second, permitted, tt.permitted, s.Remedy("rm"))
		}
	}
}

// What the person's own settings of one client forbid binds the server of another file as well, and is no part of what the
// person approves.
func TestOwnSettingsBindTheOtherFile(t *testing.T) {
	const p = `{"mcpServers": {"p": {"command": "node"}}}`
	dir, home := project(t, map[string]string{".mcp.json": p, ".cursor/mcp.json": p, ".gemini/settings.json": p}), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	write(t, filepath.Join(home, ".cursor", "cli-config.json"), `{"permissions": {"deny": ["Mcp(p:rm)"]}}`)
	write(t, filepath.Join(home, ".gemini", "policies", "p.toml"),
		"[[rule]]\nmcpName = 'p'\ndecision = 'deny'\npriority = 1\n[[rule]]\nmcpName = 'p'\ntoolName = ['get', 'rm']\ndecision = 'allow'\npriority = 2\n")
	d := Discover(dir)
	if len(d.Servers) != 1 {
		t.Fatalf("servers %s, warnings %q", listed(d.Servers), d.Warnings)
	}
	s := &d.Servers[0]
	if !s.Permits("get") || s.Permits("rm") || s.Permits("put") {
		t.Errorf("it permits %q without %q", s.EnabledTools, s.DisabledTools)
	}
	if byFile := s.DisabledByFile(); len(byFile) > 0 || s.EnabledByFile() != nil {
		t.Errorf("the person approves of %q without %q", s.EnabledByFile(), byFile)
	}
}
