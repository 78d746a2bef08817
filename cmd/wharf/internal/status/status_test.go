package status

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/host/trust"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew")

// What programs read of a server is stable: a golden file holds it.
func TestServerJSON(t *testing.T) {
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	tools, permitted := 7, 4
	all := []Info{
		{Name: "files", Enabled: true, State: stateOf(status.Connected, nil), Reason: status.Ready, Since: at, Transport: "stdio", Target: "mcp-files",
			Era: "modern", Protocol: "2026-07-28", Server: "files", Version: "1.2", Millis: 1.25, Tools: &tools, Permitted: &permitted, Divided: "it asks for the roots of its client", Attempt: 1},
		{Name: "tracker", Enabled: true, State: stateOf(status.Reconnecting, nil), Reason: status.Lost, Since: at, Transport: "http", Target: "https://tracker.example/mcp",
			Era: "legacy", Protocol: "2025-11-25", Tools: &tools, Stale: true, Attempt: 2, Next: at.Add(time.Second), Error: "the connection was lost"},
		{Name: "off", State: stateOf(status.Disabled, nil), Reason: status.TurnedOff, Since: at, Transport: "stdio", Target: "x", Gone: true},
	}
	got, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden := filepath.Join("testdata", "servers.json")
	if *updateGolden {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %s, want %s, %v", got, want, err)
	}
}

func TestAbsentServers(t *testing.T) {
	rows := []*row{
		{Info: Info{Enabled: true, State: stateOf(status.Connected, nil)}},
		{Info: Info{State: stateOf(status.Disabled, nil)}},
	}
	if err := (&View{rows: rows}).absent(); err != nil {
		t.Error(err)
	}
	rows = append(rows, &row{Info: Info{Enabled: true, State: stateOf(status.Connected, nil), Error: "no ping"}}, &row{Info: Info{Enabled: true, State: stateOf(status.AuthRequired, nil)}})
	denied := &row{Info: Info{Name: "files", Enabled: true}}
	denied.fail(status.Denied, &trust.UnapprovedError{Approval: trust.Approval{State: trust.Denied}})
	waits := &row{Info: Info{Name: "files"}}
	waits.fail(status.Denied, &trust.UnapprovedError{Approval: trust.Approval{State: trust.New}})
	if denied.State != "denied" || waits.State != "unapproved" {
		t.Errorf("denied is shown as %q, and one that waits as %q", denied.State, waits.State)
	}
	rows = append(rows, denied)
	err := (&View{rows: rows}).absent()
	if err == nil || err.Error() != "1 of 3 enabled servers are not connected, and 1 of 3 enabled servers are connected and do not answer as they should" || exit.KindOf(t.Context(), err).Code != exit.CodeUnreachable {
		t.Error(err)
	}
}

// A terminal that can take nothing back gets no table that is drawn in place.
func TestDumbTerminal(t *testing.T) {
	for _, dumb := range []bool{true, false} {
		c := &term.Console{To: io.Discard, Dumb: dumb}
		if _, live := (&View{Terminal: &term.Terminal{Err: c}, People: true}).live(); live == dumb {
			t.Errorf("dumb %v: drawn in place %v", dumb, live)
		}
	}
}

// A server that has taken back all its tools is not shown with those of before. One whose entry was changed
// is shown with none until it has listed them.
func TestToolsOfARow(t *testing.T) {
	dir, entry := filepath.Join(t.TempDir(), "catalogue"), host.Server{Name: "files", Command: "files"}
	none := map[catalogue.Kind]catalogue.List{catalogue.Tools: {Items: json.RawMessage("[]"), Listed: time.Now()}}
	if err := catalogue.Open(dir).Save(catalogue.KeyOf(entry), &catalogue.Snapshot{Name: "files", Lists: none}); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), host.Config{CatalogueDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	session, err := h.Add(entry)
	if err != nil {
		t.Fatal(err)
	}
	r := &row{session: session}
	tools := func(n int, want string) {
		t.Helper()
		r.set(status.Status{Tools: n})
		if got := r.cells()[6]; got != want {
			t.Errorf("%d: %q tools, want %q", n, got, want)
		}
	}
	tools(0, "")
	tools(7, "7")
	tools(0, "0")
	tools(7, "7")
	entry.Args = []string{"other"}
	if err := session.Reload(entry); err != nil {
		t.Fatal(err)
	}
	tools(0, "")
	tools(3, "3")
	if r.fail(status.BadConfig, errors.New("x")); r.Tools != nil {
		t.Error("one that cannot be had has tools")
	}
}

// What a check found stays in the row when the status of the same connection comes once more,
// and goes with the connection.
func TestCheckOutlivesAStatus(t *testing.T) {
	h, err := host.New(t.Context(), host.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	session, err := h.Add(host.Server{Name: "files", Command: "files"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	r := &row{Info: Info{Name: "files"}, session: session, checkedSince: at}
	r.checked(0, errors.New("no tools"))
	for since, want := range map[time.Time]string{at: "no tools", at.Add(time.Second): ""} {
		if r.set(status.Status{State: status.Connected, Since: since}); r.Error != want {
			t.Errorf("since %v: %q, want %q", since, r.Error, want)
		}
	}
}

// The row of a server that ended has one clause for people, and all of the
// error for programs.
func TestBriefErrors(t *testing.T) {
	r := &row{Info: Info{Name: "files"}}
	r.fail(status.BadConfig, errors.New("connect files: server exited: exit status 1; its stderr:\nthrow err;\n  ^"))
	if got, want := r.cells()[7], "server exited: exit status 1; see `wharf doctor files`"; got != want || r.Error != "server exited: exit status 1; its stderr:\nthrow err;\n  ^" {
		t.Errorf("got %q, want %q; for programs %q", got, want, r.Error)
	}
}

// An error in the row of a server does not name it again.
func TestErrorInARow(t *testing.T) {
	r := &row{Info: Info{Name: "files\x1b", Transport: "stdio", Millis: 12.3456}}
	r.fail(status.Denied, fmt.Errorf("connect files\x1b: %w", errors.New("no\x1b")))
	if got, want := fmt.Sprintf("%q", r.cells()), `["files\\x1b" "failed" "stdio" "" "" "12.3 ms" "" "no\\x1b"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A server of which each client of a gateway has a copy is shown as that, with the reason.
func TestDividedServer(t *testing.T) {
	h, err := host.New(t.Context(), host.Config{CatalogueDir: filepath.Join(t.TempDir(), "catalogue")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	session, err := h.Add(host.Server{Name: "files", Command: "files"})
	if err != nil {
		t.Fatal(err)
	}
	const why = "it asks for the roots of its client"
	session.Divide(why)
	r := &row{Info: Info{Name: "files"}, session: session}
	r.set(status.Status{State: status.Connected})
	if about := r.cells()[7]; r.Divided != why || about != "clients do not share it: "+why {
		t.Errorf("%q, shown as %q", r.Divided, about)
	}
}

// What an earlier connection took to answer is not shown beside a new one.
func TestOldLatencyIsNotShown(t *testing.T) {
	tools := 7
	r := row{Info: Info{Name: "files", Millis: 1.25, Tools: &tools}}
	if cells := r.cells(); !slices.Contains(cells, "1.25 ms") || !slices.Contains(cells, "7") {
		t.Errorf("%q", cells)
	}
	if r.Stale = true; slices.Contains(r.cells(), "1.25 ms") || !slices.Contains(r.cells(), "7 (old)") {
		t.Errorf("%q", r.cells())
	}
}
