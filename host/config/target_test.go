package config

import (
	"strings"
	"testing"
)

func TestTargetsShowNoSecrets(t *testing.T) {
	tests := []struct {
		argv []string
		want string
	}{
		{[]string{"npx", "-y", "server", "/a b"}, `npx -y server "/a b"`},
		{[]string{"x", "--token", "s3cret", "rest"}, "x --token *** rest"},
		{[]string{"x", "--api-key=s3cret"}, "x --api-key=***"},
		{[]string{"x", "--header", "Authorization: Bearer s3cret", "pg://u:s3cret@h"}, `x --header "Authorization: ***" pg://u:***@h`},
		{[]string{"x", "API_KEY=s3cret"}, "x API_KEY=***"},
		{[]string{"x", "--token", "--verbose"}, "x --token --verbose"},
		{[]string{"x", "--token", "${TOKEN}"}, "x --token ${TOKEN}"},
		{[]string{"x", "--token", "${TOKEN:-s3cret}"}, "x --token ***"},
	}
	for _, tt := range tests {
		if got := shownCommand(tt.argv[0], tt.argv[1:]); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.argv, got, tt.want)
		}
	}
	for url, want := range map[string]string{
		"https://x.example/mcp":             "https://x.example/mcp",
		"https://u:s3cret@x.example/mcp":    "https://u:***@x.example/mcp",
		"https://x.example/mcp?key=s3cret":  "https://x.example/mcp?key=***",
		"https://x.example?a=${A}&b=s3cret": "https://x.example?a=${A}&b=***",
		"https://${HOST}/mcp":               "https://${HOST}/mcp",
	} {
		if got := withoutSecrets(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}

// Arguments are shown as the process gets them, whether the entry is expanded or not.
func TestTargetHasTheDollarsOfTheProcess(t *testing.T) {
	s := Server{Command: "bash", Args: []string{"-c", "echo $$$$ $${FOO}"}}
	if got := s.Target(); got != `bash -c "echo $$ ${FOO}"` {
		t.Errorf("got %s", got)
	}
	s.Args[1] = "echo $$ ${FOO}"
	if got := s.Literal().Target(); got != `bash -c "echo $$ ${FOO}"` {
		t.Errorf("expanded: got %s", got)
	}
}

// What an entry says of TLS is not ignored in silence where its url is without TLS.
func TestTLSOfAnAddressWithoutTLS(t *testing.T) {
	for url, told := range map[string]bool{
		"http://a.example/mcp": true, "HTTP://a.example/mcp": true, "ws://a.example/mcp": true,
		"https://a.example/mcp": false, "wss://a.example/mcp": false, "${URL}": false,
	} {
		f, err := Parse("x.toml", []byte("[servers.a]\nurl = \""+url+"\"\ntls = { ca = \"ca.pem\" }\n"))
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(f.Notes, "\n"); strings.Contains(said, "x.toml:3: server a: tls: counts for addresses of its sign-in at most") != told {
			t.Errorf("%s: %q", url, said)
		}
	}
}
