package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// sample returns a snapshot whose lists have white space and members that no Go type has.
func sample(listed time.Time) *Snapshot {
	return &Snapshot{
		Name: "files",
		Info: status.Info{Server: mcp.Implementation{Name: "f", Version: "1"}, Protocol: "2025-11-25", Era: mcp.Legacy,
			Raw:          json.RawMessage(`{ "protocolVersion":"2025-11-25", "x":1e400 }`),
			Instructions: "say\n\"please\"", Capabilities: json.RawMessage(`{ "tools": {} }`), Transport: "stdio"},
		Lists: map[Kind]List{
			Tools:   {Items: json.RawMessage("[{\"name\": \"a\",\n\"x-new\":1e400}]"), Listed: listed, Until: listed.Add(time.Minute)},
			Prompts: {Items: json.RawMessage(`[]`), Listed: listed},
		},
	}
}

// TestSnapshotsComeBack saves a snapshot and loads it, byte for byte.
func TestSnapshotsComeBack(t *testing.T) {
	s, key := Open(filepath.Join(t.TempDir(), "c")), KeyOf(config.Server{Name: "files", Command: "f"})
	if _, err := s.Load(key); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before anything was saved: %v", err)
	}
	want := sample(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if err := s.Save(key, want); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load(key)
	if err != nil {
		t.Fatal(err)
	}
	want.Info.Capabilities = json.RawMessage(`{"tools":{}}`) // the header is one line of compact JSON
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if l := got.Lists[Tools]; !l.Fresh(l.Listed) || l.Fresh(l.Until) || got.Lists[Prompts].Fresh(l.Listed) {
		t.Error("freshness does not follow Until")
	}
	if err := s.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Remove: %v", err)
	}
	if err := s.Remove(key); err != nil {
		t.Errorf("a second Remove: %v", err)
	}
}

// TestSameSnapshotIsNotWrittenAgain looks at the file: it is replaced where the lists, the
// server's words or the hour are others.
func TestSameSnapshotIsNotWrittenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	s, key := Open(dir), Key("k")
	now := time.Now().UTC()
	if err := s.Save(key, sample(now)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "k"+suffix)
	for _, c := range []struct {
		name    string
		change  func(*Snapshot)
		written bool
	}{
		{"nothing", func(*Snapshot) {}, false},
		{"a minute", func(n *Snapshot) { *n = *sample(now.Add(time.Minute)) }, false},
		{"two hours", func(n *Snapshot) { *n = *sample(now.Add(2 * time.Hour)) }, true},
		{"the version of the server", func(n *Snapshot) { n.Info.Server.Version = "2" }, true},
		{"a tool", func(n *Snapshot) { n.Lists[Tools] = List{Items: json.RawMessage(`[]`), Listed: now} }, true},
		{"what else the server says", func(n *Snapshot) { n.Info.Raw = json.RawMessage(`{}`) }, true},
		{"a list less", func(n *Snapshot) { delete(n.Lists, Prompts) }, true},
		{"a list of another kind", func(n *Snapshot) { n.Lists[Resources] = n.Lists[Prompts]; delete(n.Lists, Prompts) }, true},
		{"the name", func(n *Snapshot) { n.Name = "g" }, true},
		{"that it is divided", func(n *Snapshot) { n.Divided = "it asked for roots" }, true},
	} {
		if err := os.WriteFile(path, must(encode(sample(now)))(t), 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		next := sample(now)
		c.change(next)
		if err := s.Save(key, next); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if written := !os.SameFile(before, after); written != c.written {
			t.Errorf("%s: written is %t, want %t", c.name, written, c.written)
		}
	}
}

// That a server is divided stays when a session that does not know of it saves its lists.
func TestDividedStays(t *testing.T) {
	s, key := Open(filepath.Join(t.TempDir(), "c")), Key("k")
	divided, later := sample(time.Now()), sample(time.Now().Add(2*time.Hour))
	divided.Divided = "it asked for roots"
	for _, snapshot := range []*Snapshot{divided, later} {
		if err := s.Save(key, snapshot); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Load(key); err != nil || got.Divided != divided.Divided || !got.Lists[Tools].Listed.Equal(later.Lists[Tools].Listed) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func must(text []byte, err error) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

// TestBadFiles reads files that encode does not write.
func TestBadFiles(t *testing.T) {
	good := string(must(encode(sample(time.Now())))(t))
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "no header"},
		"no JSON":         {"x\n", "invalid character"},
		"another version": {strings.Replace(good, `"version":1`, `"version":2`, 1), "has version 2"},
		"cut":             {good[:strings.LastIndex(good, "[{")+29], "of which 29 are there"},
		"handshake cut":   {good[:len(good)-3], "its handshake has 45 bytes, of which 42 are there"},
		"no JSON said":    {`{"version":1,"handshake":{"bytes":1,"sha256":"` + List{Items: json.RawMessage("{")}.Hash() + `"}}` + "\n{", "its handshake"},
		"another byte":    {strings.Replace(good, `"x-new"`, `"y-new"`, 1), "another hash"},
		"negative length": {strings.Replace(good, `"bytes":`, `"bytes":-`, 1), "-"},
		"unknown list":    {strings.Replace(good, `"kind":"tools"`, `"kind":"fools"`, 1), `list of "fools"`},
		"list twice":      {strings.Replace(good, `"kind":"prompts"`, `"kind":"tools"`, 1), `has it twice`},
		"no array": {`{"version":1,"lists":[{"kind":"tools","bytes":2,"sha256":"` +
			List{Items: json.RawMessage("{}")}.Hash() + "\"}]}\n{}", "no JSON array"},
		"no JSON in a list": {`{"version":1,"lists":[{"kind":"tools","bytes":2,"sha256":"` +
			List{Items: json.RawMessage("[,")}.Hash() + "\"}]}\n[,", "no JSON array"},
	} {
		if _, err := decode([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}

// TestABadFileIsReplaced saves over a file that cannot be read.
func TestABadFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := Open(dir)
	if err := os.WriteFile(filepath.Join(dir, "k"+suffix), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load("k"); err == nil || !strings.Contains(err.Error(), "k"+suffix) {
		t.Errorf("the error does not name the file: %v", err)
	}
	if err := s.Save("k", sample(time.Now())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load("k"); err != nil {
		t.Error(err)
	}
}

// TestTheOldestAreRemoved saves one server more than a store keeps.
func TestTheOldestAreRemoved(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	for i := range maxFiles {
		path := filepath.Join(dir, fmt.Sprintf("%03d%s", i, suffix))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := long.Add(time.Duration((i+7)%maxFiles) * time.Second) // the oldest is in the middle
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := Open(dir)
	if err := s.Save("new", sample(time.Now())); err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]bool{"new": true, "193": false, "192": true, "194": true, "000": true} {
		if _, err := os.Stat(filepath.Join(dir, name+suffix)); (err == nil) != there {
			t.Errorf("%s: %v, want it there: %t", name, err, there)
		}
	}
}

// TestKeys says which entries share a catalogue.
func TestKeys(t *testing.T) {
	entry := config.Server{Name: "a", Command: "c", Args: []string{"x"}, Env: map[string]string{"K": "1"}}
	same := entry
	same.Env, same.Headers, same.Timeout = map[string]string{"K": "2"}, map[string]string{"H": "1"}, time.Second
	same.Auth.Settings = map[string]any{"token": "t"}
	if KeyOf(entry) != KeyOf(same) {
		t.Error("a credential or a limit makes another key")
	}
	for name, change := range map[string]func(*config.Server){
		"name": func(s *config.Server) { s.Name = "b" }, "command": func(s *config.Server) { s.Command = "d" },
		"args": func(s *config.Server) { s.Args = []string{"y"} }, "dir": func(s *config.Server) { s.Dir = "/" },
		"url": func(s *config.Server) { s.URL = "https://a.example" }, "address": func(s *config.Server) { s.Address = "unix:/a" },
		"transport": func(s *config.Server) { s.Transport = "pigeon" }, "settings": func(s *config.Server) { s.Settings = map[string]string{"k": "v"} },
		"provider": func(s *config.Server) { s.Auth.Provider = "oauth" },
		"token":    func(s *config.Server) { s.Auth.Settings = map[string]any{"token": config.Reference{Env: "T"}} },
		"secret":   func(s *config.Server) { s.Env = map[string]string{"K": "${secret:k}"} },
	} {
		other := entry
		change(&other)
		if KeyOf(entry) == KeyOf(other) {
			t.Errorf("another %s leads to the same key", name)
		}
	}
}

// TestNilStore keeps nothing, without an error.
func TestNilStore(t *testing.T) {
	s := Open("")
	if err := errors.Join(s.Save("k", sample(time.Now())), s.Remove("k")); err != nil {
		t.Error(err)
	}
	if _, err := s.Load("k"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzDecode reads arbitrary files: what is accepted is written again without a loss.
func FuzzDecode(f *testing.F) {
	text, err := encode(sample(time.Unix(0, 0).UTC()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{\"version\":1}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decode(text)
		if err != nil {
			return
		}
		again, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decode(again)
		if err != nil {
			t.Fatalf("%v\n%q", err, again)
		}
		if len(back.Lists) > len(s.Lists) {
			t.Fatalf("%q became %q", text, again)
		}
		if string(back.Info.Raw) != string(s.Info.Raw) && len(s.Info.Raw) <= maxHandshake {
			t.Fatalf("%q became %q", s.Info.Raw, back.Info.Raw)
		}
		for kind, l := range back.Lists {
			if string(l.Items) != string(s.Lists[kind].Items) {
				t.Fatalf("list of %s changed", kind)
			}
		}
	})
}

// TestSaveWhereNothingCanBeWritten: a folder that may only be read is no error, and a lock that
// cannot be opened is not told as one that another process holds.
func TestSaveWhereNothingCanBeWritten(t *testing.T) {
	key := KeyOf(config.Server{Name: "files", Command: "f"})
	dir := filepath.Join(t.TempDir(), "c")
	if err := os.MkdirAll(filepath.Join(dir, "lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Open(dir).Save(key, sample(time.Now())); err == nil || strings.Contains(err.Error(), "another process") {
		t.Errorf("a lock that is a folder: %v", err)
	}
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("modes of folders do not bind this user")
	}
	above := t.TempDir()
	for _, made := range []bool{false, true} {
		if dir = filepath.Join(above, "c"); made {
			if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o500)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(above, 0o500); err != nil {
			t.Fatal(err)
		}
		err := Open(dir).Save(key, sample(time.Now()))
		_ = os.Chmod(above, 0o700)
		if _, lerr := Open(dir).Load(key); err != nil || !errors.Is(lerr, fs.ErrNotExist) {
			t.Errorf("made %v: saved: %v, then loaded: %v", made, err, lerr)
		}
	}
}

// TestSaveDoesNotWait holds that another process that keeps the lock costs a command two
// seconds, and what would have been kept, and no more.
func TestSaveDoesNotWait(t *testing.T) { synctest.Test(t, saveDoesNotWait) }

func saveDoesNotWait(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	s, key := Open(dir), KeyOf(config.Server{Name: "files", Command: "f"})
	if err := s.folder.Claim(); err != nil {
		t.Fatal(err)
	}
	other := s.folder.Flock("lock")
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	saved := make(chan error, 1)
	go func() { saved <- s.Save(key, sample(time.Now())) }()
	select {
	case err := <-saved:
		if err == nil {
			t.Error("saved without the lock")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("Save waits for a lock without end")
	}
	if _, err := s.Load(key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("kept: %v", err)
	}
}
