//go:build unix

package host_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// newStore returns a store without plugins, and a plugin to install.
func newStore(t *testing.T, how string, vars ...string) (s *pluginstore.Store, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "download.wasm")
	copyFile(t, file, cSocket) // which is small
	return storeIn(dir, host.Config{Worker: workerThat(t, how, vars...)}), file
}

// storeIn returns the store in a folder, which inspects modules in hosts of this kind.
func storeIn(dir string, c host.Config) *pluginstore.Store {
	c.CacheDir = cmp.Or(c.CacheDir, filepath.Join(dir, "cache"))
	return pluginstore.Open(pluginstore.Config{
		Dir: filepath.Join(dir, "config"), Files: filepath.Join(dir, "data"), VaultDir: filepath.Join(dir, "vault"),
		Reserved: []string{"stdio"}, Inspector: shortHost{c},
	})
}

// shortHost is a host for one look at a module.
type shortHost struct{ host.Config }

func (c shortHost) Inspect(ctx context.Context, path string, binary []byte) (*pluginstore.Info, error) {
	h, err := host.New(ctx, c.Config)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return h.Inspect(ctx, path, binary)
}

const (
	cSocket = "../examples/transport-socket-c/socket.wasm"
	corpSSO = "../examples/auth-corp-sso/corp-sso.wasm"
)

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, to, data)
}

func putFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// another is a plugin that does the same and is another file: a custom section
// follows it.
func another(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	putFile(t, file, append(data, 0, 2, 1, 'x'))
}

// restate makes another file of a plugin that says something else of itself, in as
// many bytes.
func restate(t *testing.T, file, old, now string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil || len(old) != len(now) || !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s does not say %q: %v", file, old, err)
	}
	putFile(t, file, bytes.ReplaceAll(data, []byte(old), []byte(now)))
}

func offer(t *testing.T, s *pluginstore.Store, r pluginstore.Request) *pluginstore.Offer {
	t.Helper()
	o, err := s.Offer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func install(t *testing.T, s *pluginstore.Store, o *pluginstore.Offer) pluginstore.Installed {
	t.Helper()
	if err := s.Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p, err := s.Find(o.Plugin.Name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A plugin is installed with what it asks for, and carries calls by its name. What
// is taken from it is not given by any entry.
func TestInstalledPlugin(t *testing.T) {
	s, file := newStore(t, "worker")
	o := offer(t, s, pluginstore.Request{Source: file, Name: "pigeon"})
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("an offer installs: %v, %v", list, err)
	}
	p := install(t, s, o)
	if p.Kind != pluginstore.Transport || p.Source != file || p.SHA256 != hashOf(t, file) || !slices.Equal(p.Granted, []string{"stream"}) {
		t.Errorf("%+v", p)
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
	loft := host.Server{Name: "loft", Transport: "pigeon", Address: listen(t, "unix")}
	with := func() *host.Host {
		files, err := s.Files()
		if err != nil {
			t.Fatal(err)
		}
		return newHost(t, host.Config{Files: files})
	}
	say(t, connect(t, with(), loft))

	_, err := with().Connect(t.Context(), host.Server{Name: "other", Transport: "pigeon", Command: "true"})
	if !errors.Is(err, host.ErrDenied) || host.Hint(err) != "write address in the entry in place of command" {
		t.Errorf("a process: %v (hint %q)", err, host.Hint(err))
	}
	if _, err := s.Grant(t.Context(), "pigeon", false, "stream"); err != nil {
		t.Error(err)
	}
	if _, err := with().Connect(t.Context(), loft); !errors.Is(err, host.ErrDenied) {
		t.Errorf("what was revoked: %v", err)
	}
	if _, err := with().Connect(t.Context(), loft); host.Hint(err) != "to grant it: wharf plugin grant pigeon stream" {
		t.Errorf("hint %q", host.Hint(err))
	}
	if _, err := s.Grant(t.Context(), "pigeon", true, "stream", "http"); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "asks for stream, and not for http") {
		t.Errorf("what it does not ask for: %v", err)
	}
	if p, err := s.Grant(t.Context(), "pigeon", true, "stream"); err != nil || !slices.Equal(p.Granted, []string{"stream"}) {
		t.Errorf("%v, %v", p.Granted, err)
	}
	say(t, connect(t, with(), loft))

	another(t, s.Path(p))
	if _, err := with().Connect(t.Context(), loft); !errors.Is(err, host.ErrDenied) {
		t.Errorf("an altered file: %v", err)
	}
	if err := s.Verify(p); !errors.Is(err, host.ErrDenied) {
		t.Errorf("an altered file: %v", err)
	}
}

// An auth provider calls the origins that it was granted.
func TestInstalledProvider(t *testing.T) {
	s, file := newStore(t, "worker")
	copyFile(t, file, corpSSO)
	p := install(t, s, offer(t, s, pluginstore.Request{Source: file}))
	if p.Name != "corp-sso" || p.Kind != pluginstore.Provider || !slices.Equal(p.Asked, []string{pluginstore.Discover}) {
		t.Errorf("%+v", p)
	}
	for _, access := range []string{"http", "https://a.example/path", "http://a.example"} {
		if _, err := s.Grant(t.Context(), p.Name, true, access); !errors.Is(err, host.ErrConfig) {
			t.Errorf("%s: %v", access, err)
		}
	}
	if _, err := s.Grant(t.Context(), p.Name, true, "https://sso.example"); err != nil {
		t.Error(err)
	}
	files, err := s.Files()
	if f := files[p.Name]; err != nil || !f.Discover || !slices.Equal(f.Origins, []string{"https://sso.example"}) || f.SHA256 != p.SHA256 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := s.Grant(t.Context(), p.Name, false, pluginstore.Discover); err != nil {
		t.Error(err)
	}
	if files, err := s.Files(); err != nil || files[p.Name].Discover {
		t.Errorf("%+v, %v", files, err)
	}
}

func TestOfferRefuses(t *testing.T) {
	s, file := newStore(t, "worker")
	install(t, s, offer(t, s, pluginstore.Request{Source: file, Name: "taken"}))
	text := filepath.Join(t.TempDir(), "text.wasm")
	putFile(t, text, []byte("this is no module"))
	for name, tc := range map[string]struct {
		r    pluginstore.Request
		kind error
	}{
		"a path":       {pluginstore.Request{Source: file, Name: "../evil"}, host.ErrConfig},
		"a built-in":   {pluginstore.Request{Source: file, Name: "stdio"}, host.ErrConfig},
		"its case":     {pluginstore.Request{Source: file, Name: "Taken"}, host.ErrConfig},
		"twice":        {pluginstore.Request{Source: file, Name: "taken"}, host.ErrConfig},
		"http":         {pluginstore.Request{Source: "http://a.example/p.wasm"}, host.ErrConfig},
		"another hash": {pluginstore.Request{Source: file, Name: "new", SHA256: strings.Repeat("0", 64)}, host.ErrDenied},
		"no module":    {pluginstore.Request{Source: text, Name: "new"}, host.ErrPluginRefused},
		"no file":      {pluginstore.Request{Source: text + "2", Name: "new"}, os.ErrNotExist},
		"no signature": {pluginstore.Request{Source: file, Name: "new", Key: "RWQ"}, host.ErrDenied},
		"no key":       {pluginstore.Request{Source: file, Name: "new", Signature: "x"}, host.ErrDenied},
	} {
		if _, err := s.Offer(t.Context(), tc.r); !errors.Is(err, tc.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// publisher signs files, and lays the signature beside them.
func publisher(t *testing.T) (key string, sign func(file string)) {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return public.String(), func(file string) {
		data, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer data.Close()
		r := minisign.NewReader(data)
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Fatal(err)
		}
		putFile(t, file+".minisig", r.SignWithComments(private, "pigeon\x1b[2J", ""))
	}
}

// The key that a plugin was first signed with is the one that it stays with.
func TestUpdate(t *testing.T) {
	s, file := newStore(t, "worker")
	key, sign := publisher(t)
	other, byOther := publisher(t)
	sign(file)
	if _, err := s.Offer(t.Context(), pluginstore.Request{Source: file, Name: "pigeon", Key: other}); !errors.Is(err, host.ErrDenied) {
		t.Errorf("signed by another key: %v", err)
	}
	putFile(t, filepath.Join(filepath.Dir(file), "minisign.pub"), []byte("untrusted comment: x\n"+key+"\n"))
	o := offer(t, s, pluginstore.Request{Source: file, Name: "pigeon"})
	if o.Plugin.Key != key || !strings.Contains(strings.Join(o.Warnings, "\n"), "lay beside it") || strings.Contains(o.Comment, "\x1b") {
		t.Errorf("%+v", o)
	}
	was := install(t, s, o)
	update := func() (*pluginstore.Offer, error) { return s.Update(t.Context(), "pigeon", pluginstore.Request{}) }
	if o, err := update(); err != nil || !o.Same() {
		t.Errorf("%+v, %v", o, err)
	}

	restate(t, file, "1.0.0", "1.0.1")
	if _, err := update(); !errors.Is(err, host.ErrDenied) {
		t.Errorf("the old signature on a new file: %v", err)
	}
	os.Remove(file + ".minisig")
	if _, err := update(); !errors.Is(err, host.ErrDenied) {
		t.Errorf("no signature: %v", err)
	}
	byOther(file)
	putFile(t, filepath.Join(filepath.Dir(file), "minisign.pub"), []byte(other))
	if _, err := update(); !errors.Is(err, host.ErrDenied) {
		t.Errorf("another key, beside it: %v", err)
	}
	if _, err := s.Update(t.Context(), "pigeon", pluginstore.Request{Key: other}); !errors.Is(err, host.ErrDenied) {
		t.Errorf("another key, named: %v", err)
	}
	if now, err := s.Find("pigeon"); err != nil || now.SHA256 != was.SHA256 {
		t.Errorf("%+v, %v", now, err)
	}

	sign(file)
	o, err := update()
	if err != nil || o.Same() || !o.Vouched() || len(o.More()) > 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if _, err := s.Grant(t.Context(), "pigeon", false, "stream"); err != nil {
		t.Error(err)
	}
	if err := s.Install(t.Context(), o); err == nil {
		t.Error("an update undoes what was granted meanwhile")
	}
	o, _ = update()
	now := install(t, s, o)
	if now.SHA256 != hashOf(t, file) || len(now.Granted) != 0 || s.Verify(now) != nil {
		t.Errorf("%+v", now)
	}
}

// Without a signature no key vouches for an update.
func TestUnsignedUpdateIsAskedAbout(t *testing.T) {
	t.Parallel()
	s, file := newStore(t, "worker")
	install(t, s, offer(t, s, pluginstore.Request{Source: file, Name: "pigeon"}))
	another(t, file)
	if o, err := s.Update(t.Context(), "pigeon", pluginstore.Request{}); err != nil || o.Vouched() {
		t.Errorf("%+v, %v", o, err)
	}
}

// An update that asks for more is asked about, with any signature, and what the
// user took from it before stays taken.
func TestMoreIsAskedAbout(t *testing.T) {
	was := pluginstore.Installed{Key: "k", Asked: []string{"stream"}}
	o := pluginstore.Offer{Was: &was, Plugin: pluginstore.Installed{Key: "k", Asked: []string{"process", "stream"}}}
	if more := o.More(); !slices.Equal(more, []string{"process"}) || o.Vouched() {
		t.Errorf("more is %v", more)
	}
	o.Plugin.Asked = nil
	if !o.Vouched() {
		t.Error("less is asked about")
	}
}

// A plugin whose compilation does not end is ended, and the process with it.
func TestTrialIsEnded(t *testing.T) {
	begun, gone, variable := watched(t)
	s, file := newStore(t, "worker-forever", variable)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := s.Offer(ctx, pluginstore.Request{Source: file, Name: "pigeon"}); !errors.Is(err, context.Canceled) {
		t.Errorf("says %v", err)
	}
	<-gone
	s = storeIn(filepath.Dir(file), host.Config{Worker: workerThat(t, "worker-forever", variable), CompileTimeout: time.Nanosecond})
	_, err := s.Offer(t.Context(), pluginstore.Request{Source: file, Name: "pigeon"})
	if !errors.Is(err, host.ErrPluginRefused) || !strings.Contains(err.Error(), "was not compiled within 1ns") {
		t.Errorf("says %v", err)
	}
}

func TestTrialsThatFail(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for how, says := range map[string]string{"worker-dies": "out of memory", "worker-lies": "did not answer DESCRIBE"} {
		s, file := newStore(t, how)
		if _, err := s.Offer(t.Context(), pluginstore.Request{Source: file, Name: "pigeon"}); !errors.Is(err, host.ErrPluginRefused) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: says %v", how, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "wharf-*"))
	if len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The trial fills the cache that hosts read.
func TestTrialFillsTheCache(t *testing.T) {
	s, file := newStore(t, "worker")
	offer(t, s, pluginstore.Request{Source: file, Name: "pigeon"})
	native, err := filepath.Glob(filepath.Join(filepath.Dir(file), "cache", "apart", hashOf(t, file), "native", "*", "*"))
	if len(native) == 0 || err != nil {
		t.Errorf("%v, %v", native, err)
	}
}
