package config

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestPlainSecrets names the places of what stands in the clear, and not those that refer to a secret.
func TestPlainSecrets(t *testing.T) {
	s := Server{
		Command: "x", Args: []string{"--api-key", "hunter2hunter2"},
		Env: map[string]string{"A_TOKEN": "${A_TOKEN}", "B_TOKEN": "hunter2", "C_TOKEN": "${secret:c}", "HOME": "/home", "D_TOKEN": "${X:-hunter2}", "E_TOKEN": "${X:-}", "F_TOKEN": "${X:-$X}",
			"G_TOKEN": "${X:-${X}}", "H_TOKEN": "Bearer ${X:-${env:X}}"},
	}
	if got, want := s.PlainSecrets(), []string{"args.api-key", "env.B_TOKEN", "env.D_TOKEN"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for url, want := range map[string]string{
		"https://h/?api_key=hunter2hunter2&x=1": "url.api_key", "https://h/?api_key=${secret:s/api_key}&x=1": "", "https://h/?api_key=${KEY}": "",
		"https://h/?api_key=${KEY:-${env:KEY}}&x=1": "", "https://u:${P:-${P}}@h/": "",
		"https://h/?api_key=${KEY:-hunter2hunter2}": "url.api_key", "https://u:${secret:p}@h/": "", "https://u:hunter2@h/": "url.password",
	} {
		if got := strings.Join((Server{URL: url}).PlainSecrets(), ", "); got != want {
			t.Errorf("%s: got %q, want %q", url, got, want)
		}
	}
}

// A password with a dollar sign in it, of which Gemini CLI would replace a part if there were such a variable, goes to
// the vault as it is written, and no part of it is told as the name of a variable.
func TestSecretsWithADollarSign(t *testing.T) {
	t.Setenv("SET", "s")
	f, err := Parse(".gemini/settings.json", []byte(`{"mcpServers": {"x": {"command": "c", "args": ["--api-key", "k$$e${UNSET}", "--password", "pa$word12345", "p$plain"],
		"env": {"DB_PASSWORD": "$$a$word12345{", "A_TOKEN": "ab$SET", "B_TOKEN": "$UNSET_TOKEN", "C_TOKEN": "${UNSET:-deff123}", "D_TOKEN": "ab$OWN", "OWN": "o"}}}}`))
	if err != nil || len(f.Servers) != 1 {
		t.Fatal(f, err)
	}
	if said := strings.Join(f.Notes, "\n"); strings.Contains(said, "word12345") || !strings.Contains(said, "the variable plain is not set") {
		t.Errorf("said %s", said)
	}
	secrets := make(map[string]string)
	out, _ := f.Servers[0].Adopt(secrets, make(map[string]string))
	if want := map[string]string{"x/password": "pa$word12345", "x/DB_PASSWORD": "$$a$word12345{", "x/D_TOKEN": "abo"}; !maps.Equal(secrets, want) {
		t.Errorf("the vault gets %q, want %q", secrets, want)
	}
	if out.Args[3] != "${secret:x/password}" || out.Env["DB_PASSWORD"] != "${secret:x/DB_PASSWORD}" || out.Env["A_TOKEN"] != "ab${SET:-$SET}" ||
		out.Env["B_TOKEN"] != "${UNSET_TOKEN:-$UNSET_TOKEN}" || out.Env["C_TOKEN"] != "${UNSET:-deff123}" || out.Args[4] != "p${plain:-$plain}" {
		t.Errorf("%q, %q", out.Args, out.Env)
	}
}

// $NAME and ${NAME} are one to Gemini CLI, and so in what import writes. That is ready without the variable, which is told.
func TestGeminiIsImportedWithoutVariables(t *testing.T) {
	unset := func(string) (string, bool) { return "", false }
	f, err := Parse(".gemini/settings.json", []byte(`{"mcpServers": {"x": {"command": "c", "args": ["$A", "x${B}y", "${a b}", "${C:-d}", "$${D}"], "env": {"K": "${OWN}", "OWN": "o${E}"}}}}`))
	if err != nil || len(f.Servers) != 1 {
		t.Fatal(f, err)
	}
	direct, err := f.Servers[0].Expand(unset)
	if want := []string{"$A", "x${B}y", "${a b}", "d", "$${D}"}; err != nil || !slices.Equal(direct.Args, want) {
		t.Errorf("%q, %v", direct.Args, err)
	}
	out, _ := f.Servers[0].Adopt(make(map[string]string), make(map[string]string))
	if want := []string{"${A:-$A}", "x${B:-${B}}y", "$${a b}", "${C:-d}", "$$${D:-${D}}"}; !slices.Equal(out.Args, want) || out.Env["K"] != "o${E:-${E}}" {
		t.Errorf("%q, %q", out.Args, out.Env)
	}
	if again, err := (Server{Args: out.Args, Env: out.Env}).Expand(unset); err != nil || !slices.Equal(again.Args, direct.Args) || !maps.Equal(again.Env, direct.Env) {
		t.Errorf("as it was imported: %q, %q, %v", again.Args, again.Env, err)
	}
	if got, want := out.Unset(unset), []string{"A", "B", "D", "E"}; !slices.Equal(got, want) {
		t.Errorf("%q are not set, want %q", got, want)
	}
}

// Lines that are shown of an entry have no secret in them, and a short one hides no part of another word.
func TestHidePlainSecrets(t *testing.T) {
	s := Server{Command: "node", Args: []string{"x.js", "--api-key", "sk-live-abc\"def12"}, Env: map[string]string{"API_KEY": "node", "MODE": "node"}, URL: ""}
	lines := "command = \"node\"\nargs = [\"x.js\", \"--api-key\", \"sk-live-abc\\\"def12\"]\n[servers.nodes.env]\nAPI_KEY = 'node'"
	want := "command = \"***\"\nargs = [\"x.js\", \"--api-key\", \"***\"]\n[servers.nodes.env]\nAPI_KEY = '***'"
	if got := s.HidePlainSecrets(lines, "***"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
