package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// A policy that wants a person to be asked has whom a command serves ask: the client of a bridge, that of all
// servers as one, and an editor; of a bridge and an editor also through the daemon.
func TestPolicyAsksWhomACommandServes(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	plugin := filepath.Join(u.folder, "readonly.wasm")
	if err := os.WriteFile(plugin, testenv.Module(t, filepath.Join("..", "..", "examples", "policy-readonly")), 0o600); err != nil {
		t.Fatal(err)
	}
	u.configure("[plugins.readonly]\nfile = " + strconv.Quote(plugin) + "\n[policy.careful]\nplugin = \"readonly\"\nsettings = { ask = [\"ledger/note\"] }\n")
	const client = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"pet","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":{"text":"x"}}}
`
	const editor = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":[1,1],"client":{"name":"pet"},"capabilities":{"elicit":true}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"server":"ledger","name":"note","arguments":{"text":"x"}}}
`
	for _, tt := range []struct {
		args       []string
		says, asks string
	}{
		{[]string{"bridge", "ledger"}, fmt.Sprintf(client, "note"), "elicitation/create"},
		{[]string{"serve"}, fmt.Sprintf(client, "ledger__note"), "elicitation/create"},
		{[]string{"control"}, editor, "elicit"},
		{[]string{"bridge", "--shared", "ledger"}, fmt.Sprintf(client, "note"), "elicitation/create"},
		{[]string{"control", "--shared"}, editor, "elicit"},
	} {
		for action, want := range map[string]string{"accept": `"text":"x"`, "decline": "the person who was asked said no"} {
			u.answers(tt.args, tt.says, action, `"method":"`+tt.asks+`"`, "ledger/note", want)
		}
	}
}

// So is who is to sign in.
func TestSignInAsksWhomACommandServes(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure("[servers.crm]\nurl = " + strconv.Quote(protectedServer(t.Cleanup).URL) + "\n")
	u.env = append(u.env, "BROWSER=false")
	u.answers([]string{"serve"}, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}},"clientInfo":{"name":"pet","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"crm__echo","arguments":{"message":"x"}}}
`, "decline", `"method":"elicitation/create"`, `"mode":"url","message":"crm wants you to sign in."`, "declined")
	u.answers([]string{"control"}, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":[1,1],"client":{"name":"pet"},"capabilities":{"openUrl":true}}}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"server":"crm"}}
`, "cancel", `"method":"openUrl"`, `"signIn":true`, `"kind":"sign_in_needed"`)
}

// answers has a command serve a client that says something. The client is asked with texts, answers with an
// action, and then has the answer to its request 2 with the last text.
func (u *user) answers(args []string, says, action string, texts ...string) {
	u.t.Helper()
	cmd := u.command(args...)
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		u.t.Fatal(err)
	}
	p := &process{u.t, cmd, bufio.NewScanner(out)}
	io.WriteString(in, says)
	asked := p.await(`"id":`)
	for strings.Contains(asked, `"id":1,"result"`) {
		asked = p.await(`"id":`)
	}
	var question struct{ ID json.RawMessage }
	if err := json.Unmarshal([]byte(asked), &question); err != nil {
		u.t.Fatal(err)
	}
	for _, text := range texts[:len(texts)-1] {
		if !strings.Contains(asked, text) {
			u.t.Fatalf("%s: asked %s; want %s", args[0], asked, text)
		}
	}
	fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`+"\n", question.ID, action)
	if line, want := p.await(`"id":2,`), texts[len(texts)-1]; !strings.Contains(line, want) {
		u.t.Errorf("%s, %s: %s; want %s", args[0], action, line, want)
	}
	in.Close()
	p.wantExit(exit.CodeOK)
}
