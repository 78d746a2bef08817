//go:build unix

package vault

import (
	"bytes"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// furnished returns the folder of a vault with two records and its key in a file.
func furnished(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "v")
	v := Open(Config{Dir: dir, Keyring: absent})
	mustStore(t, v, token, "one")
	mustStore(t, v, named("binding"), "two")
	return dir
}

// edit changes the file of a folder, as a program would that has the file.
func edit(change func(*fileV1)) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		v := Open(Config{Dir: dir})
		b, err := v.read()
		if err != nil {
			t.Fatal(err)
		}
		change(b)
		writeFile(t, v, b)
	}
}

// replace changes the text of the file.
func replace(old, fresh string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, recordsFile)
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte(old)) {
			t.Fatalf("%s has no %q (%v)", path, old, err)
		}
		text = bytes.Replace(text, []byte(old), []byte(fresh), 1)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// moved puts something else in the place of a file, which stays beside it.
func moved(name string, put func(beside, path string) error) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		path := filepath.Join(dir, name)
		beside := filepath.Join(t.TempDir(), "moved")
		if err := os.Rename(path, beside); err != nil {
			t.Fatal(err)
		}
		if err := put(beside, path); err != nil {
			t.Fatal(err)
		}
	}
}

func mode(name string, mode os.FileMode) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func pipe(_, path string) error   { return syscall.Mkfifo(path, 0o600) }
func inside(_, path string) error { return os.Mkdir(path, 0o700) }
func missing(_, _ string) error   { return nil }

func TestHostileFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*testing.T, string)
		says  string
	}{
		"folder for the group":  {mode("", 0o750), "run chmod 700 "},
		"folder for all":        {mode("", 0o701), "run chmod 700 "},
		"folder a link":         {moved("", os.Symlink), "links are refused"},
		"folder a file":         {moved("", func(_, path string) error { return os.WriteFile(path, nil, 0o600) }), "not a folder"},
		"book readable by all":  {mode(recordsFile, 0o604), "run chmod 600 "},
		"book writable by all":  {mode(recordsFile, 0o620), "run chmod 600 "},
		"book a link":           {moved(recordsFile, os.Symlink), "links are refused"},
		"book a dangling link":  {moved(recordsFile, func(beside, path string) error { return os.Symlink(beside+"x", path) }), "links are refused"},
		"book a pipe":           {moved(recordsFile, pipe), "not a regular file"},
		"book a folder":         {moved(recordsFile, inside), "not a regular file"},
		"key readable by all":   {mode(keyFile, 0o644), "run chmod 600 "},
		"key a link":            {moved(keyFile, os.Symlink), "links are refused"},
		"key missing":           {moved(keyFile, missing), "restore it"},
		"key empty":             {moved(keyFile, func(_, path string) error { return os.WriteFile(path, nil, 0o600) }), "no key"},
		"key too large":         {moved(keyFile, func(_, path string) error { return os.WriteFile(path, make([]byte, 1<<20), 0o600) }), "larger"},
		"key of another":        {moved(keyFile, func(_, path string) error { return os.WriteFile(path, []byte(newKey().Reveal()), 0o600) }), "not the one"},
		"book empty":            {moved(recordsFile, func(_, path string) error { return os.WriteFile(path, nil, 0o600) }), "not a vault"},
		"book too large":        {moved(recordsFile, func(_, path string) error { return os.WriteFile(path, make([]byte, maxFile+1), 0o600) }), "larger"},
		"book truncated":        {replace("\n}", ""), "not a vault"},
		"book and more":         {replace("\n}", "\n}{}"), "something follows"},
		"book no UTF-8":         {replace("https://as", "https://\xff"), "not UTF-8"},
		"book of a later time":  {replace(`"version": 1`, `"version": 2, "new": {}`), "use the newer program"},
		"book of no version":    {replace(`"version": 1`, `"version": 0`), "not a vault"},
		"book with more fields": {replace(`"version": 1`, `"version": 1, "new": {}`), "not a vault"},
		"book with null":        {replace(`"records": [`, `"records": null, "x": [`), "not a vault"},
		"book with an object":   {replace(`"records": [`, `"records": {}, "x": [`), "not a vault"},
		"book with a text":      {replace(`"records": [`, `"records": "", "x": [`), "not a vault"},
		"another keeper":        {edit(func(b *fileV1) { b.KeySource = "unknown" }), "its keeper"},
		"a short id":            {edit(func(b *fileV1) { b.ID = b.ID[1:] }), "its id"},
		"a short check":         {edit(func(b *fileV1) { b.Check = b.Check[1:] }), "its check"},
		"a record twice":        {edit(func(b *fileV1) { b.Records = append(b.Records, b.Records[0]) }), "twice"},
		"no provider":           {edit(func(b *fileV1) { b.Records[1].Provider = "" }), "needs a provider"},
		"a short seal":          {edit(func(b *fileV1) { b.Records[1].Sealed = b.Records[1].Sealed[:sealSize-1] }), "sealed bytes"},
		"a generation to come":  {edit(func(b *fileV1) { b.Records[0].Generation = 3 }), "its generation"},
		"a generation of none":  {edit(func(b *fileV1) { b.Records[0].Generation = 0 }), "its generation"},
		"an edited id":          {edit(func(b *fileV1) { b.ID[0] ^= 1 }), "not the one"},
		"an edited check":       {edit(func(b *fileV1) { b.Check[30] ^= 1 }), "not the one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := furnished(t)
			tc.spoil(t, dir)
			v := Open(Config{Dir: dir, Keyring: absent})
			before := look(filepath.Join(dir, recordsFile))

			_, found, err := v.Load(t.Context(), token)
			if err == nil || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("load: found %v, error %v; want one about %s that says %q", found, err, dir, tc.says)
			}
			if _, err := v.Store(t.Context(), token, secret.New("new")); err == nil {
				t.Error("store: no error")
			}
			if s := v.Status(); !strings.Contains(s.Problem, tc.says) {
				t.Errorf("status: %+v", s)
			}
			if after := look(filepath.Join(dir, recordsFile)); !bytes.Equal(before, after) {
				t.Error("the file was written over")
			}
		})
	}
}

// look returns what is at a path, and does not wait for who writes a pipe.
func look(path string) []byte {
	h, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer h.Close()
	text, _ := io.ReadAll(h)
	return text
}

// What the key proves of a record: each of these opens the file and not the
// record.
func TestMovedRecords(t *testing.T) {
	foreign := Open(Config{Dir: furnished(t), Keyring: absent})
	mustStore(t, foreign, token, "foreign")
	there, err := foreign.read()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(r, other *record){
		"swapped records":     func(r, other *record) { r.Sealed, other.Sealed = other.Sealed, r.Sealed },
		"swapped with meta":   func(r, other *record) { r.Key, other.Key = other.Key, r.Key },
		"swapped generations": func(r, other *record) { r.Generation, other.Generation = other.Generation, r.Generation },
		"later generation":    func(r, _ *record) { r.Generation++ },
		"edited provider":     func(r, _ *record) { r.Provider = "other" },
		"edited issuer":       func(r, _ *record) { r.Issuer += "/" },
		"edited resource":     func(r, _ *record) { r.Resource = "https://evil.example" },
		"edited client":       func(r, _ *record) { r.Client = "" },
		"edited name":         func(r, _ *record) { r.Name = "registration" },
		"shifted parts":       func(r, _ *record) { r.Issuer, r.Client = r.Client, r.Issuer },
		"flipped bit":         func(r, _ *record) { r.Sealed[len(r.Sealed)-1] ^= 1 },
		"flipped nonce":       func(r, _ *record) { r.Sealed[0] ^= 1 },
		"cut":                 func(r, _ *record) { r.Sealed = r.Sealed[:len(r.Sealed)-1] },
		"of another vault":    func(r, _ *record) { r.Sealed = there.Records[0].Sealed },
	} {
		t.Run(name, func(t *testing.T) {
			dir := furnished(t)
			if name == "of another vault" { // by the same key
				text, _ := os.ReadFile(filepath.Join(dir, keyFile))
				dir = filepath.Join(t.TempDir(), "w")
				_ = os.Mkdir(dir, 0o700)
				_ = os.WriteFile(filepath.Join(dir, keyFile), text, 0o600)
				mustStore(t, Open(Config{Dir: dir, Keyring: absent}), token, "one")
				mustStore(t, Open(Config{Dir: dir, Keyring: absent}), named("binding"), "two")
			}
			var key Key
			edit(func(b *fileV1) {
				change(&b.Records[0], &b.Records[1])
				key = b.Records[0].Key
			})(t, dir)
			v := Open(Config{Dir: dir, Keyring: absent})
			if r, found, err := v.Load(t.Context(), key); err == nil || !strings.Contains(err.Error(), "altered") {
				t.Errorf("got %q, found %v, error %v; want a broken seal", r.Value.Reveal(), found, err)
			}
			mustStore(t, v, key, "mended") // one bad record takes nothing else down
			mustLoad(t, v, key, "mended")
		})
	}
}

// A process that has the key believes the head of the file no more than one that
// has yet to get it.
func TestHeadIsProvenEachTime(t *testing.T) {
	for name, change := range map[string]func(*fileV1){
		"keeper": func(b *fileV1) { b.KeySource = KeyInKeyring },
		"check":  func(b *fileV1) { b.Check[0] ^= 1 },
	} {
		dir := furnished(t)
		v := Open(Config{Dir: dir, Keyring: absent})
		mustLoad(t, v, token, "one")
		edit(change)(t, dir)
		if _, _, err := v.Load(t.Context(), token); err == nil {
			t.Errorf("an edited %s was believed", name)
		}
		if _, err := v.Store(t.Context(), token, secret.New("x")); err == nil {
			t.Errorf("an edited %s was written on", name)
		}
	}
}

func TestWriteFollowsNoLink(t *testing.T) {
	dir := furnished(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := Open(Config{Dir: dir, Keyring: absent})
	planted := map[string]string{
		filepath.Join(dir, recordsFile+".new"):                               victim,
		filepath.Join(dir, "record-"+pad(named("planted").bucket())+".lock"): victim + "-made",
	}
	for path, target := range planted {
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	mustStore(t, v, token, "three")
	mustLoad(t, v, token, "three")
	if _, err := v.Lock(t.Context(), named("planted")); err == nil {
		t.Error("a lock file that is a link was opened")
	}
	if text, _ := os.ReadFile(victim); string(text) != "mine" {
		t.Errorf("what the link names was written: %q", text)
	}
	if _, err := os.Lstat(victim + "-made"); err == nil {
		t.Error("what the link names was made")
	}
}

func pad(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }

func TestModesUnderAnyUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "above", "v")
	v := Open(Config{Dir: dir, Keyring: absent})
	mustStore(t, v, token, "one")
	if err := increment(t.Context(), v, named("n")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{filepath.Dir(dir): 0o700, dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	files, _ := os.ReadDir(dir)
	if len(files) < 4 {
		t.Errorf("there are %d files; want book, key and two locks", len(files))
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v; want 0600", f.Name(), info.Mode(), err)
		}
	}
}

func TestForeignOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	for _, name := range []string{"", recordsFile, keyFile} {
		dir := furnished(t)
		if err := os.Chown(filepath.Join(dir, name), 4711, -1); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(Config{Dir: dir}).Load(t.Context(), token); err == nil || !strings.Contains(err.Error(), "belongs to the user 4711") {
			t.Errorf("%q of another user: %v", name, err)
		}
	}
}

func TestGenerationsEnd(t *testing.T) {
	dir := furnished(t)
	edit(func(b *fileV1) { b.Last = 1<<64 - 1 })(t, dir)
	v := Open(Config{Dir: dir, Keyring: absent})
	if _, err := v.Store(t.Context(), token, secret.New("x")); err == nil {
		t.Error("a generation came round")
	}
	mustLoad(t, v, token, "one")
}

func FuzzParse(f *testing.F) {
	dir := furnished(f)
	text, err := os.ReadFile(filepath.Join(dir, recordsFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte(`{"version":1,"id":"` + base64.StdEncoding.EncodeToString(make([]byte, idSize)) + `","keeper":"file","check":"` +
		base64.StdEncoding.EncodeToString(make([]byte, sealSize)) + `","last":1,"records":[]}`))
	f.Add([]byte(`{"records":[` + strings.Repeat(`{},`, maxRecords) + `{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := parse(text)
		if err != nil {
			return
		}
		again, err := b.text()
		if err != nil {
			return // base64 has shorter forms, so the bound may come into play
		}
		c, err := parse(again)
		if err != nil {
			t.Fatalf("what was read and written cannot be read: %v\n%s", err, again)
		}
		if twice, err := c.text(); err != nil || !bytes.Equal(again, twice) {
			t.Errorf("written twice:\n%s\n%s (%v)", again, twice, err)
		}
		for _, r := range c.Records {
			if i := c.find(r.Key); i < 0 || c.Records[i].Generation != r.Generation || r.check() != nil {
				t.Errorf("record %s does not name itself", r.Key)
			}
		}
	})
}

func TestParseIsBounded(t *testing.T) {
	list := []byte(`{"version":1,"records":[` + strings.Repeat(`{},`, maxFile/3-100) + `{}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := parse(list)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(maxRecords)) {
		t.Errorf("parsing millions of records: %v", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 8*maxFile {
		t.Errorf("parsing %d bytes took %d bytes", len(list), got)
	}
}
