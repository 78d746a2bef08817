package vault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// helperEnv makes the test binary a process of the kind that it names.
const helperEnv = "VAULT_TEST_HELPER"

// helpers are those kinds; their arguments follow the name of the binary.
var helpers = map[string]func(args []string){}

func TestMain(m *testing.M) {
	if kind := os.Getenv(helperEnv); kind != "" {
		helpers[kind](os.Args[1:])
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// drawer is a keyring in memory.
type drawer struct {
	mu    sync.Mutex
	texts map[string]string
	gets  int
	fails error // of every call, while it is set
}

func (d *drawer) Get(service, user string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gets++
	text, ok := d.texts[service+"/"+user]
	switch {
	case d.fails != nil:
		return "", d.fails
	case !ok:
		return "", ErrNotFound
	}
	return text, nil
}

func (d *drawer) Set(service, user, text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.texts == nil {
		d.texts = make(map[string]string)
	}
	d.texts[service+"/"+user] = text
	return d.fails
}

// absent is a machine without a keyring.
var absent = &drawer{fails: errors.New("no such service")}

var token = Key{Provider: "oauth", Issuer: "https://as.example", Resource: "https://mcp.example/a", Client: "c1", Name: "token"}

func named(name string) Key {
	k := token
	k.Name = name
	return k
}

func mustStore(t testing.TB, v *Vault, key Key, value string) uint64 {
	t.Helper()
	g, err := v.Store(t.Context(), key, secret.New(value))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// mustLoad fails unless the record is there and has that value.
func mustLoad(t testing.TB, v *Vault, key Key, value string) Record {
	t.Helper()
	r, found, err := v.Load(t.Context(), key)
	if err != nil || !found || r.Value.Reveal() != value {
		t.Fatalf("load %s: got %q, found %v, error %v; want %q", key, r.Value.Reveal(), found, err, value)
	}
	return r
}

func TestVault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "vault")
	ring := new(drawer)
	v := Open(Config{Dir: dir, Keyring: ring, Warn: func(s string) { t.Error("warned:", s) }})

	if _, found, err := v.Load(t.Context(), token); found || err != nil {
		t.Errorf("an empty vault: found %v, error %v", found, err)
	}
	if err := v.Forget(t.Context(), token, 0); err != nil {
		t.Error(err)
	}
	if l, err := v.List(t.Context()); len(l) != 0 || err != nil || v.Has("oauth", token.Resource) {
		t.Errorf("an empty vault lists %v, error %v", l, err)
	}
	if _, err := os.Stat(filepath.Dir(dir)); err == nil || ring.gets > 0 {
		t.Error("reading an empty vault touched the disk or the keyring")
	}

	first := mustStore(t, v, token, "one")
	other := mustStore(t, v, named("binding"), "two")
	second := mustStore(t, v, token, "three")
	if first == 0 || other <= first || second <= other {
		t.Errorf("generations %d, %d, %d do not rise", first, other, second)
	}
	for _, v := range []*Vault{v, Open(Config{Dir: dir, Keyring: ring})} {
		if r := mustLoad(t, v, token, "three"); r.Generation != second {
			t.Errorf("loaded generation %d; stored %d", r.Generation, second)
		}
		mustLoad(t, v, named("binding"), "two")
	}
	if s := v.Status(); s != (Status{KeySource: KeyInKeyring, Path: filepath.Join(dir, "vault.json")}) {
		t.Errorf("status %+v", s)
	}
}

func TestForget(t *testing.T) {
	v := Open(Config{Dir: t.TempDir() + "/v", Keyring: new(drawer)})
	first := mustStore(t, v, token, "one")
	second := mustStore(t, v, token, "two")
	for _, tc := range []struct {
		generation uint64
		there      bool
	}{{first, true}, {second + 1, true}, {second, false}, {second, false}, {0, false}} {
		if err := v.Forget(t.Context(), token, tc.generation); err != nil {
			t.Fatal(err)
		}
		if _, there, err := v.Load(t.Context(), token); there != tc.there || err != nil {
			t.Errorf("after forgetting generation %d: there %v, error %v; want %v", tc.generation, there, err, tc.there)
		}
	}
	// A generation does not come again: what was seen once cannot be mistaken.
	if third := mustStore(t, v, token, "three"); third <= second {
		t.Errorf("after a Forget, generation %d follows %d", third, second)
	}
	if err := v.Forget(t.Context(), token, 0); err != nil || v.Has("oauth", token.Resource) {
		t.Errorf("forget whatever is there: %v", err)
	}
}

func TestListNeedsNoKey(t *testing.T) {
	dir := t.TempDir() + "/v"
	ring := new(drawer)
	v := Open(Config{Dir: dir, Keyring: ring})
	keys := []Key{{Provider: "corp", Name: "token"}, named("binding"), token}
	for i := range keys {
		mustStore(t, v, keys[len(keys)-1-i], "x")
	}
	asked := ring.gets
	ring.fails = errors.New("locked")
	v = Open(Config{Dir: dir, Keyring: ring})
	list, err := v.List(t.Context())
	if err != nil || len(list) != len(keys) {
		t.Fatalf("listed %v, error %v", list, err)
	}
	for i, e := range list {
		if e.Key != keys[i] || time.Since(e.Stored) < 0 || time.Since(e.Stored) > time.Hour {
			t.Errorf("entry %d is %+v; want %v, stored now", i, e, keys[i])
		}
	}
	if !v.Has("oauth", token.Resource) || !v.Has("corp", "") || v.Has("corp", token.Resource) || v.Has("oauth", "") {
		t.Error("Has is wrong")
	}
	if err := v.Forget(t.Context(), token, 0); err != nil {
		t.Errorf("a login that cannot be read cannot be dropped: %v", err)
	}
	if ring.gets != asked {
		t.Error("names were asked of the keyring")
	}
}

func TestKeysAreDistinct(t *testing.T) {
	v := Open(Config{Dir: t.TempDir() + "/v", Keyring: new(drawer)})
	var keys []Key
	for _, parts := range [][5]string{
		{"a", "", "", "", "b"}, {"ab", "", "", "", "b"}, {"a", "b", "", "", "b"}, {"a", "", "b", "", "b"}, {"a", "", "", "b", "b"},
		{"a", "\x00", "", "", "b"}, {"a", "é", "", "", "b"}, {"a", "e\u0301", "", "", "b"}, {"a", "<&>\u2028", "", "", "b"}, {"A", "", "", "", "b"},
	} {
		keys = append(keys, Key{parts[0], parts[1], parts[2], parts[3], parts[4]})
	}
	for i, k := range keys {
		mustStore(t, v, k, strconv.Itoa(i))
	}
	for i, k := range keys {
		mustLoad(t, v, k, strconv.Itoa(i))
	}
}

// TestKeyInErrors names the parts of a key that it has, and no others.
func TestKeyInErrors(t *testing.T) {
	for want, k := range map[string]Key{
		`"n" of "p"`:                           {Provider: "p", Name: "n"},
		`"n" of "p", issuer "i"`:               {Provider: "p", Name: "n", Issuer: "i"},
		`"n" of "p", resource "r"`:             {Provider: "p", Name: "n", Resource: "r"},
		`"n" of "p", issuer "i", resource "r"`: {Provider: "p", Name: "n", Issuer: "i", Resource: "r", Client: "c"},
	} {
		if got := k.String(); got != want {
			t.Errorf("%+v is %s, want %s", k, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	v := Open(Config{Dir: t.TempDir() + "/v", Keyring: new(drawer)})
	mustStore(t, v, named(strings.Repeat("x", maxName)), "the longest name")
	long := strings.Repeat("x", maxName+1)
	for _, k := range []Key{{}, {Provider: "p"}, {Name: "n"}, {Provider: "p", Name: long}, {Provider: "p", Name: "n", Issuer: long}, {Provider: "p", Name: "n\xff"}} {
		_, err := v.Store(t.Context(), k, secret.New("x"))
		_, _, lerr := v.Load(t.Context(), k)
		_, kerr := v.Lock(t.Context(), k)
		if err == nil || lerr == nil || kerr == nil {
			t.Errorf("the key %.40q was taken", fmt.Sprint(k))
		}
	}
	largest := strings.Repeat("\x00", maxValue)
	mustStore(t, v, token, largest)
	mustStore(t, v, named("empty"), "")
	if _, err := v.Store(t.Context(), token, secret.New(largest+"x")); err == nil {
		t.Error("a value beyond the bound was taken")
	}
	mustLoad(t, v, token, largest)
	mustLoad(t, v, named("empty"), "")
}

func TestFullVault(t *testing.T) {
	v := Open(Config{Dir: t.TempDir() + "/v", Keyring: new(drawer)})
	mustStore(t, v, token, "mine")
	b, err := v.read()
	if err != nil {
		t.Fatal(err)
	}
	for i := len(b.Records); i < maxRecords; i++ {
		r := b.Records[0]
		r.Name = strconv.Itoa(i)
		b.Records = append(b.Records, r)
	}
	writeFile(t, v, b)
	if _, err := v.Store(t.Context(), named("more"), secret.New("x")); err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("storing into a full vault: %v", err)
	}
	mustStore(t, v, token, "replaced")
	mustLoad(t, v, token, "replaced")
}

// What is written can be read again, to the last byte that fits.
func TestLargestFile(t *testing.T) {
	b := &fileV1{Records: records{{}}}
	text, err := b.text()
	if err != nil {
		t.Fatal(err)
	}
	b.Records[0].Name = strings.Repeat("x", maxFile-len(text))
	if text, err := b.text(); err != nil || len(text) != maxFile {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	b.Records[0].Name += "x"
	if text, err := b.text(); err == nil {
		t.Errorf("%d bytes are written, and at most %d read", len(text), maxFile)
	}
}

// Each owner has its own records: those that an installed plugin stored go with it,
// and neither those of one of the same name nor the user's secrets.
func TestOwners(t *testing.T) {
	v := Open(Config{Dir: t.TempDir() + "/v", Keyring: new(drawer)})
	plain, installed := Owner("oauth", ""), Owner("oauth", "1f2e")
	if plain != "oauth" || ProviderOf(plain) != "oauth" || installed == plain || ProviderOf(installed) != "oauth" {
		t.Errorf("owners %q and %q", plain, installed)
	}
	for owner, value := range map[string]string{plain: "of the one", installed: "of the other"} {
		if _, err := (Scope{v, owner}).Store(t.Context(), token, secret.New(value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.StoreSecret(t.Context(), "token", "the user's"); err != nil {
		t.Fatal(err)
	}
	logins := func() (n int) {
		entries, err := v.Entries(t.Context())
		for _, e := range entries {
			if e.Provider != "oauth" {
				t.Errorf("a login at %q", e.Provider)
			}
		}
		if err != nil {
			t.Error(err)
		}
		return len(entries)
	}
	if n := logins(); n != 2 {
		t.Errorf("%d logins", n)
	}
	if err := v.ForgetOwner(t.Context(), installed); err != nil {
		t.Fatal(err)
	}
	if _, found, err := (Scope{v, installed}).Load(t.Context(), token); found || err != nil {
		t.Errorf("of the installed plugin there is still a record: %v, %v", found, err)
	}
	if r, found, err := (Scope{v, plain}).Load(t.Context(), token); !found || err != nil || r.Value.Reveal() != "of the one" {
		t.Errorf("%q, %v, %v", r.Value.Reveal(), found, err)
	}
	if value, found, err := v.LoadSecret(t.Context(), "token"); value != "the user's" || !found || err != nil || logins() != 1 {
		t.Errorf("%q, %v, %v", value, found, err)
	}
	if names, err := v.Secrets(); err != nil || len(names) != 1 || names[0] != "token" {
		t.Errorf("%q, %v", names, err)
	}
	if err := os.WriteFile(v.folder.Path(recordsFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Entries(t.Context()); err == nil || v.ForgetOwner(t.Context(), plain) == nil {
		t.Error("a file that cannot be read has no logins")
	}
}

func TestDefaultDir(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, base)
	}
	if dir, err := DefaultDir(); err != nil || !strings.HasPrefix(dir, base) || !strings.HasSuffix(dir, filepath.Join("wharf", "vault")) {
		t.Errorf("%q, %v", dir, err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, "")
	}
	if dir, err := DefaultDir(); err == nil {
		t.Errorf("without a home: %q", dir)
	}
}

// writeFile puts a file in place as another program would.
func writeFile(t testing.TB, v *Vault, b *fileV1) {
	t.Helper()
	text, err := b.text()
	if err == nil {
		err = os.WriteFile(v.folder.Path(recordsFile), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestNothingInTheClear(t *testing.T) {
	dir := t.TempDir() + "/v"
	v := Open(Config{Dir: dir, Keyring: new(drawer)})
	const canary = "canary-b0a71f"
	mustStore(t, v, token, canary)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if strings.Contains(string(text), canary) {
			t.Errorf("%s shows the value", e.Name())
		}
	}
	r, _, _ := v.Load(t.Context(), token)
	if s := fmt.Sprintf("%+v %#v", r, r); strings.Contains(s, canary) {
		t.Errorf("a record shows its value: %s", s)
	}
}

func TestManyGoroutines(t *testing.T) {
	dir := t.TempDir() + "/v"
	ring := new(drawer)
	vaults := []*Vault{Open(Config{Dir: dir, Keyring: ring}), Open(Config{Dir: dir, Keyring: ring})}
	const workers, rounds = 12, 8
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			v := vaults[w%len(vaults)]
			key := named(strconv.Itoa(w % 3))
			for range rounds {
				if err := increment(t.Context(), v, key); err != nil {
					t.Error(err)
				}
				_, _ = v.List(t.Context())
			}
		})
	}
	all.Wait()
	for name := range 3 {
		mustLoad(t, vaults[0], named(strconv.Itoa(name)), strconv.Itoa(workers*rounds/3))
	}
	for _, v := range vaults {
		if len(v.locks.procs) != 0 {
			t.Errorf("%d procs are left", len(v.locks.procs))
		}
	}
}

// increment is what a refresh does: lock, load, store.
func increment(ctx context.Context, v *Vault, key Key) error {
	_, err := incremented(ctx, v, key)
	return err
}

func incremented(ctx context.Context, v *Vault, key Key) (int, error) {
	unlock, err := v.Lock(ctx, key)
	if err != nil {
		return 0, err
	}
	defer unlock()
	r, _, err := v.Load(ctx, key)
	if err != nil {
		return 0, err
	}
	n, _ := strconv.Atoi(r.Value.Reveal()) // nothing is there at first
	_, err = v.Store(ctx, key, secret.New(strconv.Itoa(n+1)))
	return n + 1, err
}
