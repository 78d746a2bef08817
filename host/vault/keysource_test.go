package vault

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// mute never answers until it is let go.
type mute struct {
	asked  atomic.Int64
	letGo  chan struct{}
	drawer Keyring
}

func (m *mute) wait() {
	m.asked.Add(1)
	<-m.letGo
}

func (m *mute) Get(service, user string) (string, error) {
	m.wait()
	return m.drawer.Get(service, user)
}

func (m *mute) Set(service, user, text string) error {
	m.wait()
	return m.drawer.Set(service, user, text)
}

// forgetful takes what it does not keep.
type forgetful struct{}

func (forgetful) Get(string, string) (string, error) { return "something else", nil }
func (forgetful) Set(string, string, string) error   { return nil }

func TestNoKeyring(t *testing.T) {
	for name, ring := range map[string]Keyring{"absent": absent, "forgetful": forgetful{}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "v")
			var warnings []string
			open := func() *Vault {
				return Open(Config{Dir: dir, Keyring: ring, Warn: func(s string) { warnings = append(warnings, s) }})
			}
			v := open()
			for range 2 {
				mustStore(t, v, token, "one")
				mustLoad(t, v, token, "one")
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], keyFile) || !strings.Contains(warnings[0], "no keyring can be used (") {
				t.Errorf("warned when the key was made: %q", warnings)
			}
			warnings = nil
			v = open()
			mustLoad(t, v, token, "one")
			if len(warnings) > 0 {
				t.Errorf("warned again of a key that is there: %q", warnings)
			}
			if err := os.Remove(filepath.Join(dir, recordsFile)); err != nil {
				t.Fatal(err)
			}
			mustStore(t, v, token, "two") // by a key that is asked for again
			if len(warnings) != 1 || !strings.Contains(warnings[0], keyFile) {
				t.Errorf("warned when another was made: %q", warnings)
			}
			if s := v.Status(); s.KeySource != KeyInFile || s.Problem != "" {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// A vault is never moved from the keyring to a file, and gets no second key.
func TestKeyringIsLost(t *testing.T) {
	for name, tc := range map[string]struct {
		lose func(*drawer)
		says string
	}{
		"denied":      {func(d *drawer) { d.fails = errors.New("access denied") }, "access denied; unlock the keyring"},
		"emptied":     {func(d *drawer) { clear(d.texts) }, "no longer has the key"},
		"another key": {func(d *drawer) { setAll(d, newKey().Reveal()) }, "not the one"},
		"no key":      {func(d *drawer) { setAll(d, "hello") }, "no key"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "v")
			ring := new(drawer)
			mustStore(t, Open(Config{Dir: dir, Keyring: ring}), token, "one")
			before, _ := os.ReadFile(filepath.Join(dir, recordsFile))
			whole := ring.texts
			ring.texts = map[string]string{}
			for k, text := range whole {
				ring.texts[k] = text
			}
			tc.lose(ring)

			v := Open(Config{Dir: dir, Keyring: ring, Warn: func(s string) { t.Error("warned:", s) }})
			if _, _, err := v.Load(t.Context(), token); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("load: %v; want %q", err, tc.says)
			}
			if _, err := v.Store(t.Context(), named("new"), secret.New("x")); err == nil {
				t.Error("stored without the key")
			}
			if s := v.Status(); s.KeySource != KeyInKeyring || !strings.Contains(s.Problem, tc.says) {
				t.Errorf("status %+v", s)
			}
			after, _ := os.ReadFile(filepath.Join(dir, recordsFile))
			if _, err := os.Stat(filepath.Join(dir, keyFile)); err == nil || string(before) != string(after) {
				t.Error("the vault was changed")
			}

			ring.fails, ring.texts = nil, whole
			mustLoad(t, v, token, "one") // nothing was lost
		})
	}
}

func setAll(d *drawer, text string) {
	for k := range d.texts {
		d.texts[k] = text
	}
}

func TestKeyringHangs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "v")
	synctest.Test(t, func(t *testing.T) {
		ring := &mute{letGo: make(chan struct{}), drawer: new(drawer)}
		close(ring.letGo)
		mustStore(t, Open(Config{Dir: dir, Keyring: ring}), token, "one")

		ring.letGo = make(chan struct{})
		ring.asked.Store(0)
		v := Open(Config{Dir: dir, Keyring: ring})
		for range 3 {
			began := time.Now()
			_, _, err := v.Load(t.Context(), token)
			if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "no answer in 3s") || took != patience {
				t.Errorf("a keyring that hangs: after %v, %v", took, err)
			}
		}
		if asked := ring.asked.Load(); asked != 1 {
			t.Errorf("a keyring that hangs was asked %d times at once", asked)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := v.Load(ctx, token); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that is gone: %v", err)
		}
		close(ring.letGo)
		synctest.Wait()
		mustLoad(t, v, token, "one")
	})
}

func TestKeyringHangsAtFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "v")
	synctest.Test(t, func(t *testing.T) {
		ring := &mute{letGo: make(chan struct{}), drawer: new(drawer)}
		defer close(ring.letGo)
		warned := ""
		v := Open(Config{Dir: dir, Keyring: ring, Warn: func(s string) { warned += s }})

		// Who gives up decides nothing: no key goes into a file because of it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := v.Store(ctx, token, secret.New("one")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that is gone: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, keyFile)); err == nil || warned != "" {
			t.Error("a caller that was gone made the key go into a file")
		}
		mustStore(t, v, token, "one")
		if !strings.Contains(warned, "no answer in 3s") {
			t.Errorf("warned %q", warned)
		}
		if s := v.Status(); s.KeySource != KeyInFile {
			t.Errorf("status %+v", s)
		}
	})
}

func TestStatusOfNothing(t *testing.T) {
	for want, ring := range map[string]Keyring{KeyInKeyring: new(drawer), KeyInFile: absent} {
		dir := filepath.Join(t.TempDir(), "v")
		v := Open(Config{Dir: dir, Keyring: ring, Warn: func(s string) { t.Error("warned:", s) }})
		if s := v.Status(); s.KeySource != want || s.Problem != "" {
			t.Errorf("got %+v; want %s", s, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("a look at the status made the folder")
		}
	}
}

// The keyring is asked once per process, and every vault has a key of its own.
func TestKeyringOfThePlatform(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	keyring.MockInit()
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		v := Open(Config{Dir: filepath.Join(dir, name)})
		mustStore(t, v, token, name)
		mustLoad(t, Open(Config{Dir: filepath.Join(dir, name)}), token, name)
		if s := v.Status(); s.KeySource != KeyInKeyring || s.Problem != "" {
			t.Errorf("status %+v", s)
		}
	}
	keyring.MockInitWithError(errors.New("locked"))
	if s := Open(Config{Dir: filepath.Join(dir, "a")}).Status(); !strings.Contains(s.Problem, "locked") {
		t.Errorf("status %+v", s)
	}
}

func TestKeyringIsAskedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "v")
	ring := new(drawer)
	mustStore(t, Open(Config{Dir: dir, Keyring: ring}), token, "one")
	ring.gets = 0
	v := Open(Config{Dir: dir, Keyring: ring})
	for range 5 {
		mustLoad(t, v, token, "one")
		mustStore(t, v, token, "one")
	}
	if ring.gets != 1 {
		t.Errorf("asked %d times", ring.gets)
	}
	// A vault that was removed and made anew has another key.
	if err := os.Remove(filepath.Join(dir, recordsFile)); err != nil {
		t.Fatal(err)
	}
	mustStore(t, Open(Config{Dir: dir, Keyring: ring}), token, "two")
	mustLoad(t, v, token, "two")
	mustStore(t, v, token, "three")
	mustLoad(t, Open(Config{Dir: dir, Keyring: ring}), token, "three")
}
