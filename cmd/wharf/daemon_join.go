package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// throughDaemon is a server that this program reaches through the daemon.
type throughDaemon struct {
	place daemon.Place
	join  daemon.Request
	entry host.Server // its address is the connection to the daemon

	warned bool // that an editor has stopped its own
}

// ofDaemon is how a lost daemon is connected to again, however often it was lost: another one is there at
// once, or is started.
var ofDaemon = config.Reconnect{
	Backoff: []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond},
	Slow:    500 * time.Millisecond, SlowMax: 500 * time.Millisecond, Failures: -1,
}

// daemonStream is the name of the stream that leads to the daemon.
const daemonStream = "daemon"

// throughDaemon returns how to reach a server through the daemon, whether or not one runs. The zero server
// is all servers as one. It returns an error if the server depends on more than what the daemon knows.
func (a *app) throughDaemon(server host.Server) (*throughDaemon, error) {
	place, err := a.daemonPlace()
	if err != nil {
		return nil, err
	}
	s, err := a.loadForDaemon()
	if err != nil {
		return nil, err
	}
	join, err := a.joinOf(s, server.Name)
	if err != nil {
		return nil, err
	}
	t := &throughDaemon{place: place, join: join}
	t.entry = host.Server{
		Name: server.Name, Transport: "stdio", Address: "memory:" + daemonStream, IdleStop: -1,
		Timeout: server.Timeout, StartTimeout: server.StartTimeout, MaxTimeout: server.MaxTimeout, MessageCap: server.MessageCap,
		Resend: server.Resend,
	}.WithToolsOf(&server).Literal()
	if server.Name == "" {
		t.entry.Name = "wharf"
	}
	return t, nil
}

// joinOf returns the request that has the daemon serve a client with a server, or with all for the name "",
// as the settings have it.
func (a *app) joinOf(s *settings, server string) (daemon.Request, error) {
	folder, err := os.Getwd()
	if err != nil {
		return daemon.Request{}, err
	}
	all := a.prints(s, folder)
	print, err := all.of(server)
	return daemon.Request{Want: daemon.Join, Server: server, Folder: folder, Named: s.chosen, Print: print, Opens: a.flags.opensBrowser(true)}, err
}

// loadForDaemon returns the settings as the daemon has them, which reads --config by its whole path: the
// places of rules and files in them begin with that path.
func (a *app) loadForDaemon() (*settings, error) {
	if a.flags.config == "" || filepath.IsAbs(a.flags.config) {
		return a.load()
	}
	path, err := filepath.Abs(a.flags.config)
	if err != nil {
		return nil, err
	}
	whole := a.inFolder(a.folder)
	whole.flags.config = path
	return whole.load()
}

// askEra asks the daemon for the era of the server, which becomes that of the entry: what a server of
// the older protocol answers is not to look like that of a newer one. Before the server was ever
// connected it is not known, and any does. It warns once of a server that an editor has stopped: those of
// programs are others.
func (a *app) askEra(ctx context.Context, t *throughDaemon) error {
	r := t.join
	r.Want = daemon.Era
	answer, err := t.place.Ask(ctx, r)
	if err == nil && answer.Stopped && !t.warned {
		t.warned = true
		a.Warn("an editor has stopped its %s; programs have one of their own, which is started", plain.Name(t.entry.Name, plain.NameColumns))
	}
	if err == nil {
		t.entry.Protocol = map[string]string{"legacy": "legacy", "modern": "2026-07-28"}[answer.Era]
	}
	return err
}

// dial connects to the daemon that runs.
func (t *throughDaemon) dial(ctx context.Context) (io.ReadWriteCloser, error) {
	conn, _, err := t.place.Open(ctx, t.join)
	if err != nil {
		return nil, err
	}
	return daemon.Joined(conn), nil
}

// joinWait is how long a command waits for a daemon before it starts the server by itself. On a busy machine a
// daemon may need some seconds to make ready what a command in a new folder asks for.
const joinWait = 5 * time.Second

// joinable returns how a command that uses one server reaches it through a daemon that runs, or nil if
// it starts the server by itself.
func (a *app) joinable(ctx context.Context, server host.Server) *throughDaemon {
	f := &a.flags
	apart := f.alone || f.stderr || f.browser && !a.CanAsk() || f.trace != "" || f.record != "" || f.trustHash != "" || len(f.roots) > 0 ||
		a.adHoc || a.address != "" || os.Getenv("WHARF_TRACE") != ""
	if apart {
		return nil
	}
	if place, err := a.daemonPlace(); err != nil || !isThere(place.Socket()) {
		return nil
	}
	t, err := a.throughDaemon(server)
	if err != nil {
		return nil
	}
	t.join.InTurn, t.join.Opens = true, false // where a sign-in is needed to connect, this command does that itself
	ctx, cancel := context.WithTimeout(ctx, joinWait)
	defer cancel()
	if err := a.askEra(ctx, t); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			a.Warn("the daemon does not answer, so this command starts the server itself")
		}
		return nil
	}
	a.streams = streams{
		daemonStream: t.dial,
	}
	return t
}
