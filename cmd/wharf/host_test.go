package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// What a configuration says of all servers reaches the host.
func TestSettingsReachTheHost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wharf.toml")
	text := "max_timeout = \"7m\"\n[reconnect]\nbackoff = [\"2s\", \"3s\"]\nslow = \"4s\"\nslow_max = \"5s\"\ncalm = \"6s\"\nfailures = 7\nwindow = \"8s\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	a.flags.config = path
	var got host.Config
	h, err := a.newHost(t.Context(), nil, func(c *host.Config) { got = *c })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	const s = time.Second
	want := config.Reconnect{Backoff: []time.Duration{2 * s, 3 * s}, Slow: 4 * s, SlowMax: 5 * s, Calm: 6 * s, Failures: 7, Window: 8 * s}
	if !reflect.DeepEqual(got.Reconnect, want) || got.MaxTimeout != 7*time.Minute {
		t.Errorf("reconnects by %+v, and at most %v", got.Reconnect, got.MaxTimeout)
	}
}

// A command that stays asks an idle server for a sign of life, and --timeout bounds requests
// and compiling alike. The folders are the user's, and strangers' plugins are compiled elsewhere.
func TestHostOfACommand(t *testing.T) {
	own := filepath.Join(t.TempDir(), "wharf.toml")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*app){func(*app) {}, func(a *app) { a.follows = true }, func(a *app) { a.logs = true }} {
		a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
		a.flags.config = own
		if err := a.flags.timeout.Set("7s"); err != nil {
			t.Fatal(err)
		}
		change(a)
		var got host.Config
		h, err := a.newHost(t.Context(), nil, func(c *host.Config) { got = *c })
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if stays := a.follows || a.logs; !got.OneShot || (got.Ping == time.Minute) != stays || !stays && got.Ping != 0 {
			t.Errorf("follows %t, logs %t: one-shot %t, asks every %v", a.follows, a.logs, got.OneShot, got.Ping)
		}
		if got.Timeout != 7*time.Second || got.CompileTimeout != 7*time.Second {
			t.Errorf("a request has %v, and compiling %v", got.Timeout, got.CompileTimeout)
		}
		if got.CacheDir == "" || got.CatalogueDir == "" || got.VaultDir == "" || len(got.Worker) != 2 {
			t.Errorf("compiles into %q by %q, keeps lists in %q and logins in %q", got.CacheDir, got.Worker, got.CatalogueDir, got.VaultDir)
		}
	}
}

// A command that serves other programs lasts, and stops servers that none of them uses.
func TestHostOfACommandThatServes(t *testing.T) {
	own := filepath.Join(t.TempDir(), "wharf.toml")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	a.flags.config = own
	var got host.Config
	h, err := a.servingHost(t.Context(), func(c *host.Config) { got = *c })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if got.OneShot || !got.StopIdle || got.Ping != time.Minute {
		t.Errorf("one-shot %t, stops idle servers %t, asks every %v", got.OneShot, got.StopIdle, got.Ping)
	}
}
