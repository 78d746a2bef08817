package trust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// helperEnv makes the test binary a process of a user who decides.
const helperEnv = "WHARF_TRUST_TEST_DECIDES"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		decideMany(dir, os.Args[1])
	}
	goleak.VerifyTestMain(m)
}

// decideMany decides about entries of its own, and about one that others do too.
func decideMany(dir, name string) {
	l := Open(dir)
	for i := range rounds {
		e := sample()
		e.Server = name + strconv.Itoa(i)
		err := errors.Join(l.Decide(context.Background(), e, Approved), l.Decide(context.Background(), sample(), Denied))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

const rounds = 10

// open returns a ledger in a folder that does not exist yet.
func open(t testing.TB) *Ledger { return Open(filepath.Join(t.TempDir(), "wharf", "trust")) }

func (l *Ledger) mustDecide(t testing.TB, e Entry, v Verdict) {
	t.Helper()
	if err := l.Decide(t.Context(), e, v); err != nil {
		t.Fatal(err)
	}
}

func TestDecisionsAreKept(t *testing.T) {
	l := open(t)
	if _, found, err := findIn(l, sample().Key()); found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
	if _, err := os.Stat(filepath.Dir(l.Path())); err == nil {
		t.Error("a look made the folder")
	}
	l.mustDecide(t, sample(), Approved)
	r, found, err := findIn(Open(filepath.Dir(l.Path())), sample().Key())
	if !found || err != nil || r.Verdict != Approved || r.Hash != sample().Hash() || len(Differences(r.Entry, sample())) > 0 {
		t.Errorf("%+v, %v, %v", r, found, err)
	}
	changed := sample()
	changed.Facts[0].Values = []string{"/usr/bin/other"}
	l.mustDecide(t, changed, Denied)
	if list, err := l.List(); len(list) != 1 || err != nil || list[0].Verdict != Denied || list[0].Hash != changed.Hash() {
		t.Errorf("%+v, %v", list, err)
	}
	for _, name := range []string{l.Path(), filepath.Dir(l.Path())} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestRevoke(t *testing.T) {
	l := open(t)
	if n, err := l.Revoke(t.Context(), func(Record) bool { return true }); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	other := sample()
	other.Server = "other"
	l.mustDecide(t, other, Approved)
	l.mustDecide(t, sample(), Approved)
	if n, err := l.Revoke(t.Context(), func(r Record) bool { return r.Server == "files" }); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if list, err := l.List(); len(list) != 1 || list[0].Server != "other" || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestLedgerIsBounded(t *testing.T) {
	records := make([]Record, maxRecords+1)
	for i := range records {
		e := sample()
		e.Server = strconv.Itoa(i)
		records[i] = Record{Entry: e, Hash: e.Hash(), Verdict: Approved}
	}
	if _, err := format(records); err == nil || !strings.Contains(err.Error(), "revoke") {
		t.Error(err)
	}
	if text, err := format(records[:maxRecords]); err != nil {
		t.Error(err)
	} else if _, err := parse(text); err != nil {
		t.Error(err)
	}
	huge := sample()
	huge.Facts = []Fact{{Name: "x", Values: []string{strings.Repeat("x", maxEntry)}}}
	if err := open(t).Decide(t.Context(), huge, Approved); err == nil {
		t.Error("no error")
	}
}

// A ledger that this program did not leave as it is, is no approval.
func TestHostileLedgers(t *testing.T) {
	l := open(t)
	l.mustDecide(t, sample(), Approved)
	good, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(l.Path())
	replaced := func(old, new string) func() error {
		return func() error { return os.WriteFile(l.Path(), []byte(strings.Replace(string(good), old, new, 1)), 0o600) }
	}
	for name, tc := range map[string]struct {
		do   func() error
		says string
	}{
		"for the group":    {func() error { return os.Chmod(l.Path(), 0o640) }, "chmod 600"},
		"folder for all":   {func() error { return os.Chmod(dir, 0o755) }, "chmod 700"},
		"another command":  {replaced("/usr/bin/npx", "/usr/bin/evil"), "hash"},
		"another server":   {replaced(`"files"`, `"evil"`), "hash"},
		"another hash":     {replaced(sample().Hash()[:20], Digest("x")[:20]), "hash"},
		"another verdict":  {replaced(`"approved"`, `"yes"`), "verdict"},
		"a later version":  {replaced(`"version": 1`, `"version": 2`), "version"},
		"an unknown key":   {replaced(`"verdict"`, `"all": true, "verdict"`), "unknown field"},
		"something behind": {func() error { return os.WriteFile(l.Path(), append(slices.Clone(good), '{'), 0o600) }, "follows"},
		"half of it":       {func() error { return os.WriteFile(l.Path(), good[:len(good)/2], 0o600) }, "not what this program wrote"},
		"nothing":          {func() error { return os.WriteFile(l.Path(), nil, 0o600) }, "not what this program wrote"},
		"a link": {func() error {
			return errors.Join(os.Rename(l.Path(), dir+"/elsewhere"), os.Symlink("elsewhere", l.Path()))
		}, "links are refused"},
		"too large": {func() error { return os.Truncate(l.Path(), maxFile+1) }, "larger"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), os.WriteFile(l.Path(), good, 0o600), tc.do())
			if err != nil {
				t.Fatal(err)
			}
			if _, found, err := findIn(l, sample().Key()); found || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("found %v, error %v; want one that says %q", found, err, tc.says)
			}
			if err := l.Decide(t.Context(), sample(), Approved); err == nil {
				t.Error("it is written over")
			}
		})
	}
}

func TestGoroutinesDecide(t *testing.T) {
	l := open(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			e := sample()
			e.Server = strconv.Itoa(i)
			l.mustDecide(t, e, Approved)
		})
	}
	all.Wait()
	if list, err := l.List(); len(list) != 16 || err != nil {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// Two people at once, or one with two terminals: no decision is lost.
func TestProcessesDecide(t *testing.T) {
	l := open(t)
	var processes []*exec.Cmd
	for _, name := range []string{"a", "b", "c"} {
		p := exec.Command(os.Args[0], name)
		p.Env = append(os.Environ(), helperEnv+"="+filepath.Dir(l.Path()))
		p.Stderr = os.Stderr
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	if list, err := l.List(); len(list) != 3*rounds+1 || err != nil {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// A lock that nobody lets go of must not be waited for beyond what is wanted.
func TestDecideCanBeCalledOff(t *testing.T) {
	l := open(t)
	l.mustDecide(t, sample(), Approved)
	lock := l.folder.Flock(lockFile)
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Decide(ctx, sample(), Denied); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, found, err := findIn(l, sample().Key()); !found || err != nil || r.Verdict != Approved {
		t.Errorf("%+v, %v, %v", r, found, err)
	}
}

func FuzzLedger(f *testing.F) {
	e := sample()
	text, err := format([]Record{{Entry: e, Hash: e.Hash(), Verdict: Approved}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"version":1,"records":null}`))
	f.Add([]byte(strings.Replace(string(text), "approved", "denied", 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		records, err := parse(text)
		if err != nil {
			return
		}
		for _, r := range records {
			if r.Hash != r.Entry.Hash() || r.Entry.Check() != nil || r.Verdict != Approved && r.Verdict != Denied {
				t.Errorf("accepted %+v", r)
			}
		}
		again, err := format(records)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := parse(again); err != nil || len(back) != len(records) {
			t.Errorf("what was read is written so that it cannot be read: %v", err)
		}
	})
}

// findIn returns what a ledger says about a key.
func findIn(l *Ledger, key Key) (r Record, found bool, err error) {
	records, err := l.List()
	if about := About(records, key); about != nil {
		return *about, true, err
	}
	return r, false, err
}
