package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func environment(name string) (string, bool) {
	v, ok := map[string]string{
		"HOME": "/home/ada", "TOKEN": "s3cret", "EMPTY": "", "NESTED": "${TOKEN}", "ProgramFiles(x86)": `C:\x`,
		"HOST": "https://a.example", "LINES": "a\r\nb", "_": "underscore",
	}[name]
	return v, ok
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct{ value, want, err string }{
		{"plain", "plain", ""},
		{"", "", ""},
		{"${HOME}/notes", "/home/ada/notes", ""},
		{"${HOME}${TOKEN}", "/home/adas3cret", ""},
		{"${env:HOME}", "/home/ada", ""},
		{"${EMPTY}", "", ""},
		{"${_}", "underscore", ""},
		{"${ProgramFiles(x86)}", `C:\x`, ""},
		{"${EMPTY:-default}", "default", ""},
		{"${UNSET:-}", "", ""},
		{"${UNSET:-a:-b c/d}", "a:-b c/d", ""},
		{"${env:UNSET:-default}", "default", ""},
		{"${HOME:-default}", "/home/ada", ""},
		{"${NESTED}", "${TOKEN}", ""},
		{"$$", "$", ""},
		{"$${HOME}", "${HOME}", ""},
		{"$$$${HOME}", "$${HOME}", ""},
		{"$$${HOME}", "$/home/ada", ""},
		{"pa$word", "pa$word", ""},
		{"$HOME", "$HOME", ""},
		{"5$", "5$", ""},
		{"}{", "}{", ""},
		{"${UNSET}", "", "the variable UNSET is not set; set it, or write ${UNSET:-default}"},
		{"${UNSET} ${UNSET2}", " ", "the variable UNSET is not set; set it, or write ${UNSET:-default}\n" +
			"the variable UNSET2 is not set; set it, or write ${UNSET2:-default}"},
		{"${HOME", "", `"${" has no "}"; write ${NAME}, or $${ for the characters`},
		{"${}", "", "${} names no variable; write ${NAME} or ${NAME:-default}"},
		{"${home folder}", "", "${home folder} names no variable; write ${NAME} or ${NAME:-default}"},
		{"${HOME-x}", "", "${HOME-x} names no variable; write ${NAME} or ${NAME:-default}"},
		{"${input:token}", "", "${input:token} asks an editor for input; set a variable and write ${NAME}"},
		{"Bearer ${secret:a.b/c-d}!", "Bearer ${secret:a.b/c-d}!", ""},
		{"$${secret:a}", "${secret:a}", ""},
		{"${secret:}", "", "${secret:} names no secret; write ${secret:NAME}, with letters, digits, '_', '.', '@', '/' and '-'"},
		{"${secret:a:-b}", "", "${secret:a:-b} names no secret; write ${secret:NAME}, with letters, digits, '_', '.', '@', '/' and '-'"},
		{"a${UNSET:-${UNSET}}b", "a${UNSET}b", ""},
		{"${UNSET:-${env:UNSET}}${HOME:-${HOME}}", "${env:UNSET}/home/ada", ""},
		{"${env:UNSET:-${UNSET}}}", "${UNSET}}", ""},
		{"${UNSET:-${UNSET", "", `"${" has no "}"; write ${NAME}, or $${ for the characters`},
		{"${UNSET:-${HOME}}", "}", "the default of ${UNSET} holds a variable itself; write plain text"},
	} {
		pieces, errs := split(tt.value, vars{lookup: environment})
		got := joined(pieces)
		var texts []string
		for _, err := range errs {
			texts = append(texts, err.Error())
		}
		if got != tt.want || strings.Join(texts, "\n") != tt.err {
			t.Errorf("split(%q) = %q, %q\nwant %q, %q", tt.value, got, texts, tt.want, tt.err)
		}
	}
}

func TestServerExpand(t *testing.T) {
	before := Server{
		Name:     "${HOME}",
		Command:  "${HOME}/bin/x",
		Args:     []string{"a", "${TOKEN}"},
		Env:      map[string]string{"${HOME}": "${HOME}"},
		Dir:      "${HOME}",
		URL:      "${HOST}/mcp",
		Headers:  map[string]string{"authorization": "Bearer ${TOKEN}"},
		Address:  "unix:${HOME}/x.sock",
		Settings: map[string]string{"route": "${EMPTY:-north}"},
		Framing:  "${HOME}",
	}
	kept := before
	kept.Args, kept.Env = append([]string{}, before.Args...), maps.Clone(before.Env)
	after, err := before.Expand(environment)
	want := Server{
		Name:     "${HOME}",
		Command:  "/home/ada/bin/x",
		Args:     []string{"a", "s3cret"},
		Env:      map[string]string{"${HOME}": "/home/ada"},
		Dir:      "/home/ada",
		URL:      "https://a.example/mcp",
		Headers:  map[string]string{"authorization": "Bearer s3cret"},
		Address:  "unix:/home/ada/x.sock",
		Settings: map[string]string{"route": "north"},
		Framing:  "${HOME}",
		secrets:  map[string][]piece{},
	}
	if err != nil || !reflect.DeepEqual(after, want) {
		t.Errorf("got %+v, %v\nwant %+v", after, err, want)
	}
	if !reflect.DeepEqual(before, kept) {
		t.Errorf("the server itself became %+v", before)
	}
}

// All that is missing is told at once, with the place of the entry.
func TestServerExpandTellsAll(t *testing.T) {
	file, err := Parse("wharf.toml", []byte(`
[servers.files]
command = "${A}"
args = ["x", "${B}"]
env = { TOKEN = "${C}", OTHER = "${D" }
`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.Servers[0].Expand(environment)
	want := strings.TrimSpace(`
wharf.toml:3: server files: command: the variable A is not set; set it, or write ${A:-default}
wharf.toml:4: server files: args[1]: the variable B is not set; set it, or write ${B:-default}
wharf.toml:5: server files: env.OTHER: "${" has no "}"; write ${NAME}, or $${ for the characters
wharf.toml:5: server files: env.TOKEN: the variable C is not set; set it, or write ${C:-default}
`)
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// A variable that a file of Codex only lists is left out if it is not set, as by Codex: env is without it, and so are
// the headers, also for a blank. What import writes does the same. Goose refuses such a server.
func TestListedVariables(t *testing.T) {
	lookup := func(name string) (string, bool) {
		value, set := map[string]string{"SET": "s", "EMPTY": "", "BLANK": " "}[name]
		return value, set
	}
	expanded := func(name, text string, unset ...string) (Server, error) {
		file, err := Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		direct, wrong := file.Servers[0].Expand(lookup)
		imported, _ := file.Servers[0].Adopt(make(map[string]string), make(map[string]string))
		if got := imported.Unset(lookup); !slices.Equal(got, unset) {
			t.Errorf("%s: %q are not set, want %q", text, got, unset)
		}
		written := Server{Command: imported.Command, Args: imported.Args, Env: imported.Env, URL: imported.URL, Headers: imported.Headers}
		if s, err := written.Expand(lookup); (err != nil) != (wrong != nil) || err == nil && (!maps.Equal(s.Env, direct.Env) || !maps.Equal(s.Headers, direct.Headers)) {
			t.Errorf("%s: imported: %v, %v, %v", text, s.Env, s.Headers, err)
		}
		return direct, wrong
	}
	s, err := expanded(".codex/config.toml", "[mcp_servers.c]\ncommand = \"x\"\nenv_vars = [\"UNSET\", \"SET\", \"EMPTY\", { name = \"OTHER\" }]\n", "OTHER", "UNSET")
	if want := map[string]string{"SET": "s", "EMPTY": ""}; err != nil || !maps.Equal(s.Env, want) {
		t.Errorf("%v, %v", s.Env, err)
	}
	s, err = expanded("codex/config.toml", "[mcp_servers.c]\nurl = \"https://c.example\"\nenv_http_headers = { X-A = \"SET\", X-B = \"UNSET\", X-C = \"BLANK\" }\nbearer_token_env_var = \"TOK\"\n", "TOK", "UNSET")
	if want := map[string]string{"X-A": "s"}; err != nil || !maps.Equal(s.Headers, want) {
		t.Errorf("%v, %v", s.Headers, err)
	}
	s, err = expanded("a.json", `{"mcpServers": {"c": {"command": "docker", "args": ["run", "-e", "UNSET", "-e", "SET", "image"]}}}`, "UNSET")
	if want := map[string]string{"SET": "s"}; err != nil || !maps.Equal(s.Env, want) {
		t.Errorf("%v, %v", s.Env, err)
	}
	s, err = expanded("wharf.toml", "[servers.c]\ncommand = \"x\"\nenv = { A = \"${?UNSET}\", B = \"${?EMPTY}\", C = \"${?SET}\", D = \"${SET:-d}${UNSET:-d}\" }\n", "UNSET")
	if want := map[string]string{"B": "", "C": "s", "D": "sd"}; err != nil || !maps.Equal(s.Env, want) {
		t.Errorf("%v, %v", s.Env, err)
	}
	s, err = expanded("wharf.toml", "[servers.c]\nurl = \"https://c.example\"\nheaders = { A = \"${?BLANK}\", B = \"${?SET}\" }\n")
	if want := map[string]string{"B": "s"}; err != nil || !maps.Equal(s.Headers, want) {
		t.Errorf("%v, %v", s.Headers, err)
	}
	_, err = expanded("wharf.toml", "[servers.c]\ncommand = \"x\"\nargs = [\"${?SET}\", \"x${?UNSET}\"]\n", "UNSET")
	if want := "wharf.toml:3: server c: args[1]: the variable UNSET is not set; set it: ${?UNSET} leaves out a whole variable or header, and no part of a text"; err == nil || err.Error() != want {
		t.Error(err)
	}
	s, err = expanded(".mcp.json", `{"mcpServers": {"c": {"command": "c", "env": {"A": "${?SET}"}}}}`)
	if want := map[string]string{"A": "${?SET}"}; err != nil || !maps.Equal(s.Env, want) {
		t.Errorf("%v, %v", s.Env, err)
	}
	_, err = expanded("goose/config.yaml", "extensions:\n  c: {type: stdio, cmd: x,\n    env_keys: [UNSET]}\n", "UNSET")
	if err == nil || !strings.HasPrefix(err.Error(), "goose/config.yaml:3: server c: env_keys: ") || !strings.HasSuffix(err.Error(), ": the variable UNSET is not set; set it") {
		t.Error(err)
	}
	s, err = expanded("wharf.toml", "[servers.c]\ncommand = \"x\"\nenv = { A = \"${UNSET}\" }\n", "UNSET")
	if err == nil {
		t.Errorf("%v", s.Env)
	}
}

// What only the expanded value shows, without showing the value.
func TestServerExpandChecks(t *testing.T) {
	for _, tt := range []struct {
		server Server
		want   string
	}{
		{Server{URL: "example.com/mcp"}, "url: has no scheme; write http:// or https:// before it"},
		{Server{URL: "ftp://example.com"}, `url: begins with "ftp"; write "https://host/path"`},
		{Server{URL: "wss://a.example"}, `transport: is http, and the url is for one that speaks WebSocket; write transport = "websocket"`},
		{Server{URL: "ws://a.example", Transport: "sse"}, `transport: is sse, and the url is for one that speaks WebSocket; write transport = "websocket"`},
		{Server{URL: "http:///mcp"}, `url: has no host; write "https://host/path"`},
		{Server{URL: "127.0.0.1:80/mcp"}, "url: has no scheme; write http:// or https:// before it"},
		{Server{URL: "https://a b/"}, `url: is no url; write "https://host/path"`},
		{Server{URL: "https://a:b c@x/"}, "url: holds a user or a password; leave them out of it, and give the server the header Authorization: Basic ${secret:NAME}, where the secret is USER:PASSWORD in base64"},
		{Server{URL: "https://u:pa/ss@a.example/x"}, "url: " + errUser.Error()},
		{Server{URL: "https://u:${TOKEN}@a.example"}, "url: " + errUser.Error()},
		{Server{URL: "https://u:${secret:k}@a.example"}, "url: " + errUser.Error()},
		{Server{URL: "https://a.example", Headers: map[string]string{"x": "${LINES}"}},
			"headers.x: a header is one line; its value has a line break"},
	} {
		tt.server.Name = "a"
		_, err := tt.server.Expand(environment)
		if err == nil || err.Error() != "server a: "+tt.want {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// A secret is put in where the entry says so, and nowhere else: not where a variable or
// an escape brought in the same characters.
func TestResolve(t *testing.T) {
	written := Server{
		Name:    "a",
		Command: "x",
		Args:    []string{"--key=${secret:key}", "$${secret:key}", "${TOKEN}-${secret:other}-$$", "${SAYS}"},
		Env:     map[string]string{"A": "${secret:key}${secret:key}", "B": "b"},
	}
	names := []Reference{{Secret: "key"}, {Secret: "other"}}
	if got := written.Secrets(); !slices.Equal(got, names) {
		t.Errorf("as written it means %v, want %v", got, names)
	}
	expanded, err := written.Expand(func(name string) (string, bool) {
		return map[string]string{"TOKEN": "t", "SAYS": "${secret:key}"}[name], true
	})
	if got := expanded.Secrets(); err != nil || !slices.Equal(got, names) {
		t.Errorf("expanded it means %v, %v, want %v", got, err, names)
	}
	if got := expanded.Args[0] + expanded.Env["A"]; got != "--key=${secret:key}${secret:key}${secret:key}" {
		t.Errorf("before it is resolved, the entry holds %q", got)
	}
	resolved, err := expanded.Resolve(map[Reference]string{{Secret: "key"}: "${secret:other}$$", {Secret: "other"}: "o"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"--key=${secret:other}$$", "${secret:key}", "t-o-$", "${secret:key}"}
	if !slices.Equal(resolved.Args, want) || resolved.Env["A"] != "${secret:other}$$${secret:other}$$" || resolved.Env["B"] != "b" {
		t.Errorf("got %q and %q", resolved.Args, resolved.Env)
	}
	if names := resolved.Secrets(); len(names) != 0 {
		t.Errorf("resolved, it still means %v", names)
	}
	if again, err := resolved.Resolve(nil); err != nil || !slices.Equal(again.Args, want) {
		t.Errorf("resolved twice it has %q, %v", again.Args, err)
	}
	if _, err := expanded.Resolve(map[Reference]string{{Secret: "key"}: "k"}); err == nil || err.Error() != `server a: args[2]: there is no ${secret:other}` {
		t.Errorf("without one of its secrets: %v", err)
	}
	expanded.Args[0] = "changed"
	if resolved.Args[0] == "changed" {
		t.Error("the resolved entry shares its arguments")
	}
}

// A secret is looked at as every other value is.
func TestResolveChecks(t *testing.T) {
	s := Server{Name: "a", URL: "https://a.example", Headers: map[string]string{"x": "${secret:x}"}}
	s, err := s.Expand(environment)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resolve(map[Reference]string{{Secret: "x"}: "a\nb"}); err == nil || !strings.Contains(err.Error(), "line break") {
		t.Errorf("error %v", err)
	}
}
