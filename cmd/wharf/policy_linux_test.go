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
// servers as one, and an editor.
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
	} {
		for action, want := range map[string]string{"accept": `"text":"x"`, "decline": "the person who was asked said no"} {
			cmd := u.command(tt.args...)
			in, err1 := cmd.StdinPipe()
			out, err2 := cmd.StdoutPipe()
			if err := errors.Join(err1, err2, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			p := &process{t, cmd, bufio.NewScanner(out)}
			io.WriteString(in, tt.says)
			asked := p.await(`"id":`)
			for strings.Contains(asked, `"id":1,"result"`) {
				asked = p.await(`"id":`)
			}
			var question struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(asked), &question); err != nil || !strings.Contains(asked, `"method":"`+tt.asks+`"`) || !strings.Contains(asked, "ledger/note") {
				t.Fatalf("%s: asked %s, %v", tt.args[0], asked, err)
			}
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`+"\n", question.ID, action)
			if line := p.await(`"id":2,`); !strings.Contains(line, want) {
				t.Errorf("%s, %s: %s; want %s", tt.args[0], action, line, want)
			}
			in.Close()
			p.wantExit(exit.CodeOK)
		}
	}
}
