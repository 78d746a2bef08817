package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// ofProject writes a file of servers into the working folder, which becomes a project, with the ledger under the
// name team, and more.
func (u *user) ofProject(more string) {
	u.t.Helper()
	text := "[servers.team]\ncommand = \"server-ledger\"\nargs = [" + strconv.Quote(u.ledger) + ", \"notes.txt\"]\n" + more
	for name, text := range map[string]string{"wharf.toml": text, "notes.txt": "one"} {
		if err := os.WriteFile(filepath.Join(u.folder, name), []byte(text), 0o600); err != nil {
			u.t.Fatal(err)
		}
	}
}

// approve approves the server team as it is now.
func (u *user) approve() {
	u.t.Helper()
	hash := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(u.must("trust", "show", "team", "--json"))
	u.must("trust", "approve", "team", "--trust-hash", hash)
}

// A server of a project that is approved is shared as the user's own are, and not one that was started before the
// approval of now.
func TestProjectsJoinTheDaemon(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ofProject("")
	u.must("control", "--socket")
	call := []string{"call", "team", "note", "text=x"}
	u.must("call", "ledger", "note", "text=x") // the world of this folder is made without the server that is not approved
	denied := func(when string) {
		t.Helper()
		if out, err := u.run(call...); err == nil || !strings.Contains(err.Error(), "not approved") {
			t.Errorf("%s: %s, %v", when, out, err)
		}
		cmd := u.command("bridge", "--shared", "team")
		cmd.Stdin = strings.NewReader(greeting("note"))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "error: team of ") {
			t.Errorf("%s: %s, %v", when, out, err)
		}
	}
	starts := func(when string, want int, does func()) {
		t.Helper()
		u.starts()
		does()
		if n := u.starts(); n != want {
			t.Errorf("%s: %d starts, want %d", when, n, want)
		}
	}
	twice := func() { u.must(call...); u.must(call...) }
	denied("before the approval")
	u.approve()
	starts("two calls", 1, twice)
	starts("the user's own server", 0, func() { u.must("call", "ledger", "note", "text=x") })
	starts("the file of the configuration is named", 1, func() {
		u.must("call", "ledger", "note", "text=x", "--config", u.config)
		u.must("call", "ledger", "note", "text=x", "--config", u.config)
	})

	if err := os.WriteFile(filepath.Join(u.folder, "notes.txt"), []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	denied("another file")
	u.approve()
	starts("another file, approved", 1, twice)
	u.must("trust", "revoke", "team")
	denied("revoked")
	u.approve()
	starts("with another entry", 1, func() { u.ofProject("timeout = \"50s\"\n"); u.approve(); twice() })
	starts("with rules of the project", 0, func() {
		u.ofProject("timeout = \"50s\"\n[access.all]\nmatch = [\"*\"]\ndeny = [\"x/y\"]\n")
		u.approve()
		twice()
		u.must("call", "ledger", "note", "text=x")
	})
}

// Where an approval cannot be kept, the daemon refuses the server, and the command starts it itself. The person has
// answered by then, and is not asked again.
func TestApprovalThatTheDaemonDoesNotSee(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.env = append(u.env, "TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR=1") // also of the daemon
	u.ofProject("")
	u.must("control", "--socket")
	trusted := filepath.Join(filepath.Dir(u.config), "trust")
	if err := os.MkdirAll(filepath.Join(trusted, "trust.lock"), 0o700); err != nil { // which is to be a file
		t.Fatal(err)
	}
	s := newScreen(t, nil, "wharf", "call", "team", "note", "text=x")
	s.Dir, s.Env = u.folder, u.env
	s.start()
	s.await(mayIt)
	s.answer("", "yes\r")
	s.ends(exit.CodeOK, "trust.lock: is a directory")
	if shown := s.seen; strings.Contains(shown, mayIt) {
		t.Errorf("asked again: %q", shown)
	}
}
