package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// editing is an editor at the socket of a daemon.
type editing struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Scanner
	id   int
}

// until returns the next line that has a text.
func (e *editing) until(text string) string {
	e.t.Helper()
	for e.in.Scan() {
		if strings.Contains(e.in.Text(), text) {
			return e.in.Text()
		}
	}
	e.t.Fatalf("the daemon has ended before %s", text)
	return ""
}

// begin sends a request.
func (e *editing) begin(method, params string) {
	e.t.Helper()
	e.id++
	fmt.Fprintf(e.conn, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", e.id, method, params)
}

// call makes a request, and returns the line of its answer.
func (e *editing) call(method, params string) string {
	e.t.Helper()
	e.begin(method, params)
	return e.until(fmt.Sprintf(`"id":%d,`, e.id))
}

// edits connects an editor to the daemon, which tells it events.
func (u *user) edits() *editing {
	u.t.Helper()
	conn, err := net.Dial("unix", strings.TrimSpace(u.must("control", "--socket")))
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { conn.Close() })
	e := &editing{t: u.t, conn: conn, in: bufio.NewScanner(conn)}
	e.in.Buffer(nil, 1<<20)
	e.call("initialize", `{"protocol":[1,1],"client":{"name":"test"}}`)
	e.call("events/since", `{}`)
	return e
}

// Editors of a daemon see its other clients. These are told of lists that other rules have made others, and
// the rules hold for them at once.
func TestDaemonTellsOfClients(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	e := u.edits()
	if got := e.call("gateway/clients", `{}`); !strings.Contains(got, `"clients":[]`) {
		t.Error(got)
	}
	b := u.bridge("note", "bridge", "--shared", "ledger")
	const shown = `"name":"editor","version":"1","kind":"bridge","era":`
	e.until(`"kind":"gateway.client","client":{"id":`)
	if got := e.call("gateway/clients", `{}`); strings.Count(got, `"id":"`) != 1 || !strings.Contains(got, shown) || !strings.Contains(got, `"all":false,"servers":["ledger"]`) {
		t.Error(got)
	}
	if got := e.call("gateway/status", `{}`); !strings.Contains(got, `"gateways":1,"clients":1,`) {
		t.Error(got)
	}
	if got := b.list("100"); !strings.Contains(got, `"name":"note"`) {
		t.Error(got)
	}
	u.configure("\n[access.all]\nmatch = [\"client:editor\"]\ndeny = [\"ledger/note\"]\n")
	b.hears("notifications/tools/list_changed")
	if got := b.list("101"); strings.Contains(got, `"name":"note"`) {
		t.Error(got)
	}
	b.call("x", false)
	if got := b.answer(); !strings.Contains(got, "may not call") {
		t.Error(got)
	}
	u.configure("")
	b.hears("notifications/tools/list_changed")
	if n := u.starts(); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
	b.in.Close()
	e.until(`"left":true`)
}

// The instructions of all servers as one tell of a server that could not be started for another client.
func TestSharedServeTellsOfTrouble(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure("[servers.gone]\ncommand = \"no-such-command\"\n")
	u.bridge("ledger__note", "serve", "--shared").list("2") // begins all
	told := ""
	for range 100 { // the state of a server is told beside the list
		next := u.command("serve", "--shared")
		next.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")
		out, err := next.Output()
		if err != nil {
			t.Fatal(err)
		}
		if told = string(out); strings.Contains(told, "no-such-command") {
			break
		}
	}
	if !strings.Contains(told, `"instructions":"These servers cannot be used now, so their tools are missing: gone (`) || !strings.Contains(told, "not found in PATH") {
		t.Error(told)
	}
}

// All servers as one are served in the era of the client, which reaches what its revision has.
func TestSharedServersSpeakTheEraOfTheClient(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	cmd := u.command("serve", "--shared")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ledger__note","arguments":{"text":"x"}}}
{"jsonrpc":"2.0","id":3,"method":"tasks/list"}
`)
	out, err := cmd.Output()
	if text := string(out); err != nil || strings.Contains(text, "2026-07-28") || !strings.Contains(text, `"id":2,"result":`) {
		t.Errorf("%s, %v", text, err)
	}
}

// A program is told that the server which it starts is not the one that an editor has stopped.
func TestStoppedByAnEditor(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	e := u.edits()
	for _, step := range []struct {
		method string
		warned int
	}{{"servers/stop", 1}, {"servers/start", 0}} {
		if got := e.call(step.method, `{"server":"ledger"}`); !strings.Contains(got, `"state"`) {
			t.Fatal(got)
		}
		out, err := u.command("call", "ledger", "note", "text=x").CombinedOutput()
		if warned := strings.Count(string(out), "warning: an editor has stopped its ledger; programs have one of their own, which is started\n"); err != nil || warned != step.warned {
			t.Errorf("after %s: %s, %v", step.method, out, err)
		}
	}
}

// hears returns the next line that has a text.
func (b *bridged) hears(text string) string {
	b.t.Helper()
	for b.out.Scan() {
		if line := b.out.Text(); strings.Contains(line, text) {
			return line
		}
	}
	b.t.Fatalf("the bridge has ended before %s", text)
	return ""
}

// list asks for the tools.
func (b *bridged) list(id string) string {
	b.t.Helper()
	b.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`)
	return b.hears(`"id":` + id)
}

// A bridge without a daemon follows the rules too.
func TestBridgeFollowsItsRules(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	b := u.bridge("note", "bridge", "ledger")
	if got := b.list("100"); !strings.Contains(got, `"name":"note"`) {
		t.Error(got)
	}
	u.configure("\n[access.all]\nmatch = [\"bridge\"]\ndeny = [\"ledger/note\"]\n")
	b.hears("notifications/tools/list_changed")
	b.call("x", false)
	if got := b.answer(); !strings.Contains(got, "may not call") {
		t.Error(got)
	}
}

// The rules of a project that change meanwhile count at once, in a bridge of its own and in one of the daemon, and
// deny everything while they cannot be read.
func TestBridgeFollowsTheProject(t *testing.T) {
	t.Parallel()
	for _, shared := range []string{"--alone", "--shared"} {
		u := newUser(t)
		b := u.bridge("note", "bridge", shared, "ledger")
		if got := b.list("100"); !strings.Contains(got, `"name":"note"`) {
			t.Error(got)
		}
		for i, rules := range []string{"[access.all]\nmatch = [\"*\"]\ndeny = [\"ledger/note\"]\n", "", "<<<<<<< HEAD\n[access.all]\n"} {
			if err := os.WriteFile(filepath.Join(u.folder, "wharf.toml"), []byte(rules), 0o600); err != nil {
				t.Fatal(err)
			}
			b.hears("notifications/tools/list_changed")
			b.list(strconv.Itoa(101 + i))
			b.call("x", false)
			if got := b.answer(); strings.Contains(got, "may not call") != (rules != "") {
				t.Errorf("%s: with %q: %s", shared, rules, got)
			}
		}
	}
}

// The daemon follows its configuration: editors hear of a change by hand, by a command and by an editor, and
// reach the servers that there are then. A command in a terminal finds what an editor has written.
func TestDaemonFollowsItsConfiguration(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	e := u.edits()
	const call = `{"server":%q,"name":"note","arguments":{"text":"x"}}`
	e.call("tools/call", fmt.Sprintf(call, "ledger"))

	u.configure("\n[servers.second]\ncommand = \"server-ledger\"\nargs = [\"" + u.ledger + "\"]\nenv = { LEDGER = \"two\" }\n")
	e.until(`"kind":"config.changed"`)
	if got := e.call("tools/call", fmt.Sprintf(call, "second")); !strings.Contains(got, `"text":"x"`) {
		t.Error(got)
	}
	if got := e.call("servers/list", `{}`); !strings.Contains(got, `"name":"ledger","state":"connected"`) {
		t.Error(got)
	}
	if n := u.starts(); n != 2 {
		t.Errorf("two servers were started %d times", n)
	}
	u.must("remove", "--yes", "second")
	e.until(`"kind":"config.changed"`)
	if got := e.call("servers/list", `{}`); strings.Contains(got, `"name":"second"`) {
		t.Error(got)
	}
	u.configure("\n[access.all]\nmatch = [\"*\"]\ndeny = [\"ledger/note\"]\n")
	e.until(`"kind":"config.changed"`)
	if got := e.call("tools/call", fmt.Sprintf(call, "ledger")); !strings.Contains(got, `"kind":"denied"`) {
		t.Error(got)
	}
	u.configure("\n[audit]\nfile = \"" + filepath.Join(t.TempDir(), "audit.jsonl") + "\"\n")
	e.until(`"kind":"config.changed","restart":["audit"]`)
	if got := e.call("config/reload", `{}`); !strings.Contains(got, `"restart":["audit"]`) {
		t.Error(got)
	}
	u.configure("")
	if got := e.until(`"kind":"config.changed"`); strings.Contains(got, "restart") {
		t.Error(got)
	}
	if got := e.call("servers/disable", `{"server":"ledger"}`); !strings.Contains(got, `"state":"disabled"`) {
		t.Error(got)
	}
	if text, err := os.ReadFile(u.config); err != nil || !strings.HasSuffix(string(text), "\ndisabled = true\n") {
		t.Errorf("%s, %v", text, err)
	}
	if got := u.must("servers", "-o", "json"); !strings.Contains(got, `"enabled":false`) {
		t.Error(got)
	}
	if got := e.call("config/edit", `{"edits":[{"op":"set","path":["servers","ledger","command"],"value":"rm"}]}`); !strings.Contains(got, `"kind":"denied"`) {
		t.Error(got)
	}
}

// Programs that share servers go on with another daemon, which has another configuration than the one before.
func TestSharedAfterAnotherConfiguration(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	all, one := u.bridge("ledger__note", "serve", "--shared"), u.bridge("note", "bridge", "--shared", "ledger")
	for _, b := range []*bridged{all, one} {
		b.call("x", false)
		if got := b.answer(); !strings.Contains(got, `"text":"x"`) {
			t.Error(got)
		}
	}
	u.configure("timeout = \"50s\"\n[servers.second]\ncommand = \"server-ledger\"\nargs = [\"" + u.ledger + "\"]\nenv = { LEDGER = \"two\" }\n")
	u.must("daemon", "stop")
	for _, b := range []*bridged{all, one} {
		b.call("x", false)
		if got := b.hears(fmt.Sprintf(`"id":%d`, b.calls)); !strings.Contains(got, `"text":"x"`) {
			t.Error(got)
		}
	}
	if got := all.list("100"); !strings.Contains(got, `"name":"second__note"`) {
		t.Error(got)
	}
}

// A server whose entry is as before goes on for commands, whatever becomes of other entries; one whose entry is another
// is another process.
func TestServerStaysWhileOtherEntriesChange(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must("control", "--socket")
	for _, more := range []string{"", "[servers.two]\ncommand = \"true\"\n", "[servers.two]\ncommand = \"false\"\n", ""} {
		u.configure(more)
		u.must("call", "ledger", "note", "text=x")
	}
	if n := u.starts(); n != 1 {
		t.Errorf("the server was started %d times", n)
	}
	u.configure("dir = \"/\"\n")
	for range 2 {
		u.must("call", "ledger", "note", "text=x")
	}
	if n := u.starts(); n != 1 {
		t.Errorf("the server of another entry was started %d times", n)
	}
}

// A relative --config means the daemon of that file, whose rules and files it names by whole paths.
func TestDaemonOfARelativeConfig(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure("\n[access.all]\nmatch = [\"*\"]\ndeny = [\"ledger/none\"]\n[audit]\n[plugins.x]\nfile = \"x.wasm\"\n")
	relative, err := filepath.Rel(u.folder, u.config)
	if err != nil {
		t.Fatal(err)
	}
	u.must("control", "--socket", "--config", relative)
	for range 2 {
		u.must("call", "ledger", "note", "text=x", "--config", relative)
	}
	if n := u.starts(); n != 1 {
		t.Errorf("two commands have started it %d times", n)
	}
}

// A mistake in the configuration is told once, with all folders in which programs use the daemon.
func TestDaemonTellsOfAMistakeOnce(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must("control", "--socket")
	home, folders := u.folder, []string{filepath.Join(u.folder, "a"), filepath.Join(u.folder, "b")}
	for _, u.folder = range folders {
		if err := os.Mkdir(u.folder, 0o700); err != nil {
			t.Fatal(err)
		}
		u.must("call", "ledger", "note", "text=x")
	}
	u.folder = home
	u.configure("mistake\n")
	for !strings.Contains(u.must("daemon", "logs"), "is as before") {
	}
	u.must("daemon", "stop")
	log := u.must("daemon", "logs")
	if strings.Count(log, "is as before") != 1 || !strings.Contains(log, "who may call what in "+strings.Join(folders, ", ")+" is as before: configuration: ") {
		t.Error(log)
	}
}
