package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// What a server of a daemon lists is known afterwards as it is without a daemon, with what the entry does not permit.
func TestDaemonKeepsLists(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure("disabled_tools = [\"note\"]\n")
	knows := func() bool { return strings.Contains(u.must("__complete", "call", "ledger", ""), "note\n") }
	u.must("control", "--socket")
	u.must("tools", "ledger")
	if out, err := u.run("call", "ledger", "note", "text=x"); err == nil || !strings.Contains(err.Error(), "disabled_tools of its entry") {
		t.Error(out, err)
	}
	if knows() {
		t.Error("a tool is proposed that the entry does not permit")
	}
	u.must("daemon", "stop")
	if n := u.starts(); n != 1 {
		t.Errorf("%d starts", n)
	}
	u.configure("")
	if !knows() || u.starts() != 0 {
		t.Error("the tool is not proposed, or the server was started for it")
	}
}

// A command that a daemon did not take in after all goes by the rules itself.
func TestRulesHoldWithoutTheDaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.configure("[access.all]\nmatch = [\"*\"]\ndeny = [\"ledger/note\"]\n")
	socket := strings.TrimSpace(u.must("control", "--socket"))
	u.must("daemon", "stop")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 9)
	go func() {
		defer close(asked)
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			line, _ := bufio.NewReader(conn).ReadString('\n')
			answer := `{"refused":"no"}`
			if strings.Contains(line, `"want":"era"`) {
				answer = `{"era":"legacy"}`
			}
			asked <- line
			conn.Write([]byte(answer + "\n"))
			conn.Close()
		}
	}()
	out, err := u.run("call", "ledger", "note", "text=x")
	if err == nil || !strings.Contains(err.Error(), `the command may not call "ledger/note"`) {
		t.Error(out, err)
	}
	if first, second := <-asked, <-asked; !strings.Contains(first, `"want":"era"`) || !strings.Contains(second, `"want":"join"`) {
		t.Error(first, second)
	}
}

// What the file of another client forbids is denied through a daemon in the words of that file.
func TestDeniedThroughADaemonAsInTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	file := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"ledger": {"command": "wharf", "disabledTools": ["note"]}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{Terminal: new(term.Terminal)}
	a.flags.config = file
	s, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	server, _ := s.find("ledger")
	through, err := a.throughDaemon(server)
	if err != nil {
		t.Fatal(err)
	}
	if key := through.entry.ToolsKey(false); key != "disabledTools" || through.entry.Permits("note") {
		t.Errorf("the key is %q; note is permitted: %t", key, through.entry.Permits("note"))
	}
}
