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

	"github.com/wharf-mcp/wharf/host/internal/securedir"
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
	s := Open(dir, nil)
	for i := range rounds {
		e := sample()
		e.Server = name + strconv.Itoa(i)
		err := errors.Join(s.decide(context.Background(), e, Approved), s.decide(context.Background(), sample(), Denied))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

const rounds = 10

// open returns a store in a folder that does not exist yet.
func open(t testing.TB) *Store { return Open(filepath.Join(t.TempDir(), "wharf", "trust"), nil) }

func (s *Store) mustDecide(t testing.TB, e Entry, v State) {
	t.Helper()
	if err := s.decide(t.Context(), e, v); err != nil {
		t.Fatal(err)
	}
}

func TestDecisionsAreKept(t *testing.T) {
	s := open(t)
	if _, found, err := findIn(s, sample().key()); found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); err == nil {
		t.Error("a look made the folder")
	}
	s.mustDecide(t, sample(), Approved)
	r, found, err := findIn(Open(filepath.Dir(s.Path()), nil), sample().key())
	if !found || err != nil || r.State != Approved || r.Hash != sample().hash() || len(differences(r.Entry, sample())) > 0 {
		t.Errorf("%+v, %v, %v", r, found, err)
	}
	changed := sample()
	changed.Facts[0].Values = []string{"/usr/bin/other"}
	s.mustDecide(t, changed, Denied)
	if list, err := s.Records(); len(list) != 1 || err != nil || list[0].State != Denied || list[0].Hash != changed.hash() {
		t.Errorf("%+v, %v", list, err)
	}
	for _, name := range []string{s.Path(), filepath.Dir(s.Path())} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestRevoke(t *testing.T) {
	s := open(t)
	if n, err := s.Revoke(t.Context(), func(Record) bool { return true }); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := os.Stat(filepath.Dir(s.Path())); err == nil {
		t.Error("revoking nothing made the folder")
	}
	other := sample()
	other.Server = "other"
	s.mustDecide(t, other, Approved)
	s.mustDecide(t, sample(), Approved)
	if n, err := s.Revoke(t.Context(), func(r Record) bool { return r.Server == "files" }); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if list, err := s.Records(); len(list) != 1 || list[0].Server != "other" || err != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestStoreIsBounded(t *testing.T) {
	records := make([]Record, maxRecords+1)
	for i := range records {
		e := sample()
		e.Server = strconv.Itoa(i)
		records[i] = Record{Entry: e, Hash: e.hash(), State: Approved}
	}
	zero, one, two := records[0], records[1], records[2]
	for _, e := range []Record{zero, two} {
		text, err := securedir.Format(fileV1{version, []Record{one, e}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(text); (err == nil) != (e.Server == "2") || err != nil && !strings.Contains(err.Error(), "record 2 is out of order") {
			t.Errorf("1 before %s: %v", e.Server, err)
		}
	}
	if text, err := securedir.Format(fileV1{version, []Record{one, one}}); err != nil {
		t.Error(err)
	} else if _, err := parse(text); err == nil {
		t.Error("a record that is there twice is accepted")
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
	if err := open(t).decide(t.Context(), huge, Approved); err == nil {
		t.Error("no error")
	}
}

// A file is written as long as it can be read back, and not a byte longer.
func TestSizeOfTheStore(t *testing.T) {
	record := func(server string, size int) Record {
		e := sample()
		e.Server, e.Facts = server, []Fact{{Name: "x", Values: []string{strings.Repeat("x", size)}}}
		return Record{Entry: e, Hash: e.hash(), State: Approved}
	}
	var records []Record
	for i := range maxFile / maxEntry {
		records = append(records, record(fmt.Sprintf("%02d", i), maxEntry-1000))
	}
	records = append(records, record("last", 0))
	text, err := format(records)
	if err != nil {
		t.Fatal(err)
	}
	missing := maxFile - len(text)
	for size, want := range map[int]bool{missing: true, missing + 1: false} {
		records[len(records)-1] = record("last", size)
		if _, err := format(records); (err == nil) != want {
			t.Errorf("%d bytes: %v", maxFile+size-missing, err)
		}
	}
}

// A file that this program did not leave as it is, is no approval.
func TestHostileFiles(t *testing.T) {
	s := open(t)
	s.mustDecide(t, sample(), Approved)
	good, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(s.Path())
	replaced := func(old, new string) func() error {
		return func() error { return os.WriteFile(s.Path(), []byte(strings.Replace(string(good), old, new, 1)), 0o600) }
	}
	for name, tc := range map[string]struct {
		do   func() error
		says string
	}{
		"for the group":    {func() error { return os.Chmod(s.Path(), 0o640) }, "chmod 600"},
		"folder for all":   {func() error { return os.Chmod(dir, 0o755) }, "chmod 700"},
		"another command":  {replaced("/usr/bin/npx", "/usr/bin/evil"), "record 1: its hash"},
		"another server":   {replaced(`"files"`, `"evil"`), "hash"},
		"another hash":     {replaced(sample().hash()[:20], digestOf("x")[:20]), "hash"},
		"another verdict":  {replaced(`"approved"`, `"yes"`), "verdict"},
		"a later version":  {replaced(`"version": 1`, `"version": 2`), "version"},
		"an unknown key":   {replaced(`"verdict"`, `"all": true, "verdict"`), "unknown field"},
		"something behind": {func() error { return os.WriteFile(s.Path(), append(slices.Clone(good), '{'), 0o600) }, "follows"},
		"half of it":       {func() error { return os.WriteFile(s.Path(), good[:len(good)/2], 0o600) }, "not what this program wrote"},
		"nothing":          {func() error { return os.WriteFile(s.Path(), nil, 0o600) }, "not what this program wrote"},
		"a link": {func() error {
			return errors.Join(os.Rename(s.Path(), dir+"/elsewhere"), os.Symlink("elsewhere", s.Path()))
		}, "links are refused"},
		"too large": {func() error { return os.Truncate(s.Path(), maxFile+1) }, "larger"},
	} {
		t.Run(name, func(t *testing.T) {
			err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700), os.WriteFile(s.Path(), good, 0o600), tc.do())
			if err != nil {
				t.Fatal(err)
			}
			if _, found, err := findIn(s, sample().key()); found || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("found %v, error %v; want one that says %q", found, err, tc.says)
			}
			if err := s.decide(t.Context(), sample(), Approved); err == nil {
				t.Error("it is written over")
			}
		})
	}
}

func TestGoroutinesDecide(t *testing.T) {
	s := open(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			e := sample()
			e.Server = strconv.Itoa(i)
			s.mustDecide(t, e, Approved)
		})
	}
	all.Wait()
	if list, err := s.Records(); len(list) != 16 || err != nil {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// Two people at once, or one with two terminals: no decision is lost.
func TestProcessesDecide(t *testing.T) {
	s := open(t)
	var processes []*exec.Cmd
	for _, name := range []string{"a", "b", "c"} {
		p := exec.Command(os.Args[0], name)
		p.Env = append(os.Environ(), helperEnv+"="+filepath.Dir(s.Path()))
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
	if list, err := s.Records(); len(list) != 3*rounds+1 || err != nil {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// Waiting for a lock ends with the context of the caller.
func TestDecideCanBeCalledOff(t *testing.T) {
	s := open(t)
	s.mustDecide(t, sample(), Approved)
	lock := s.folder.Flock(lockFile)
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.decide(ctx, sample(), Denied); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, found, err := findIn(s, sample().key()); !found || err != nil || r.State != Approved {
		t.Errorf("%+v, %v, %v", r, found, err)
	}
}

func FuzzStore(f *testing.F) {
	e := sample()
	text, err := format([]Record{{Entry: e, Hash: e.hash(), State: Approved}})
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
			if r.Hash != r.Entry.hash() || r.Entry.check() != nil || r.State != Approved && r.State != Denied {
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

// findIn returns what a store says about a key.
func findIn(s *Store, k key) (r Record, found bool, err error) {
	records, err := s.Records()
	if about := about(records, k); about != nil {
		return *about, true, err
	}
	return r, false, err
}
