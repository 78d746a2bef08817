package connect

import (
	"context"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/modules"
)

// An account whose provider was replaced is given back when nothing uses it any more, and
// is closed with the others as long as something does.
func TestAFormerAccountIsGivenBack(t *testing.T) {
	m, err := modules.New(t.Context(), modules.Config{Builtin: map[string]func() []byte{"corp": none}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	accounts := New(Config{Modules: m}).Accounts
	replaced := func() *SharedAccount {
		a, err := accounts.Of(config.Server{Name: "s", Auth: config.Auth{Provider: "corp"}})
		if err != nil {
			t.Fatal(err)
		}
		accounts.Dismiss(map[string]bool{"corp": true})
		return a
	}
	used, unused := replaced(), make([]weak.Pointer[auth.Account], 3)
	for i := range unused {
		unused[i] = weak.Make(replaced().Account)
	}
	kept := func() int {
		accounts.mu.Lock()
		defer accounts.mu.Unlock()
		return len(accounts.former)
	}
	for deadline := time.Now().Add(10 * time.Second); kept() > 1 && time.Now().Before(deadline); {
		runtime.GC()
	}
	for i, a := range unused {
		if a.Value() != nil {
			t.Errorf("account %d, which nothing uses, is kept", i)
		}
	}
	if n := kept(); n != 1 {
		t.Errorf("%d former accounts are kept, want 1", n)
	}
	accounts.close()
	if _, err := used.Material(t.Context()); err == nil || err.Error() != "sign in to s: closed" {
		t.Errorf("one that is used is not closed: %v", err)
	}
}

// The command of an entry that does not end holds up the end of the accounts for no longer than its grace.
func TestACommandEndsWithTheAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts, end := context.WithCancel(t.Context())
		ctx, done := endingWith(t.Context(), accounts)
		defer done()
		over, doneBefore := endingWith(t.Context(), accounts)
		if doneBefore(); over.Err() == nil {
			t.Error("a command that has ended has a context that has not")
		}
		end()
		time.Sleep(helperGrace - time.Nanosecond)
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("it was ended before its grace was over")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("it goes on after its grace")
		}
	})
}

// What signs in to a server of a project takes its variables from this process, where they
// were approved: an embedder's own lookup is for the user's own entries, and the two share
// no account.
func TestVariablesOfAProjectsSignIn(t *testing.T) {
	m, err := modules.New(t.Context(), modules.Config{Builtin: map[string]func() []byte{"bearer": none}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	t.Setenv("TOKEN", "of-the-process")
	accounts := New(Config{Modules: m, LookupEnv: func(string) (string, bool) { return "of-the-embedder", true }}).Accounts
	own := config.Server{Name: "s", URL: "https://a.example", Auth: config.Auth{
		Provider: "bearer", Settings: map[string]any{"token": config.Reference{Env: "TOKEN"}},
	}}
	foreign := own
	foreign.Project = &config.Project{Folder: t.TempDir(), File: ".mcp.json"}
	foreign, err = foreign.Release(foreign.Variables(), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[*config.Server]string{&own: "of-the-embedder", &foreign: "of-the-process"} {
		text, err := accounts.settings(*s)(t.Context())
		if err != nil || string(text) != `{"token":"`+want+`"}` {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
	first, err := accounts.Of(own)
	second, wrong := accounts.Of(foreign)
	if err != nil || wrong != nil || first == second {
		t.Errorf("one account for both: %v, %v", err, wrong)
	}
	accounts.close()
}

// none is a plugin of which only the name is asked for.
func none() []byte { return nil }
