package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// A daemon serves programs in so many folders, and no more.
func TestWorldsAreBounded(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	d := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	all := &worlds{app: d, ctx: t.Context(), open: make(map[viewpoint]*world)}
	for n := range maxWorlds {
		all.open[viewpoint{folder: fmt.Sprint("/", n)}] = &world{}
	}
	folder := t.TempDir()
	a := d.inFolder(folder)
	s, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	p := a.prints(s, folder)
	print, err := p.of(demoName)
	if err != nil {
		t.Fatal(err)
	}
	_, err = all.enter(t.Context(), &daemon.Request{Server: demoName, Folder: folder, Print: print})
	if err == nil || !strings.Contains(err.Error(), "64 folders, which is the most") {
		t.Error(err)
	}
	for says, r := range map[string]*daemon.Request{
		"another one than the daemon has": {Server: demoName, Folder: folder, Print: "x"},
		`it has no server "none"`:         {Server: "none", Folder: folder},
		"expected the whole path":         {Server: demoName, Folder: "here", Print: print},
	} {
		if _, err := all.enter(t.Context(), r); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// What is held keeps its world and the daemon, as a client does.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over atomic.Int32
		ends := func() { over.Add(1) }
		w := &world{clients: daemon.Await(time.Minute, ends)}
		all := &worlds{present: daemon.Await(time.Minute, ends)}
		release := all.hold(w)
		time.Sleep(time.Hour)
		if n := over.Load(); n != 0 {
			t.Errorf("%d of them ended while they were held", n)
		}
		release()
		time.Sleep(2 * time.Minute)
		if n := over.Load(); n != 2 {
			t.Errorf("%d of them ended afterwards", n)
		}
	})
}
