package main

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/trust"
)

// daemonPause is how long no daemon is started after one that did not start.
const daemonPause = 5 * time.Second

// serveShared serves the client on stdin and stdout with servers of the daemon, which it starts if need
// be, also after it has ended. The zero server is all servers as one. joined is false, and the client
// has not been served, if the daemon has another server than this program would start.
func (a *app) serveShared(ctx context.Context, server host.Server) (joined bool, err error) {
	if server.Project != nil {
		t, err := a.trust()
		if err != nil {
			return false, err
		}
		if p, err := t.Look(ctx, server); err != nil || p.State != trust.Approved {
			return false, nil // what starts it says why not
		}
	}
	t, err := a.throughDaemon(server)
	if err == nil {
		err = a.ensureDaemon(ctx, t.place)
	}
	if err == nil {
		err = a.askEra(ctx, t)
	}
	if err != nil {
		if ctx.Err() != nil {
			return true, err
		}
		a.Warn("the servers of the daemon are not used: %v; once the daemon is stopped, this program starts one of its own kind", err)
		return false, nil
	}
	var starts sync.Mutex // guards the next two, and t
	var why error
	var failed time.Time // when a daemon did not start, for why
	a.streams = streams{
		daemonStream: func(ctx context.Context) (io.ReadWriteCloser, error) {
			starts.Lock()
			defer starts.Unlock()
			if time.Since(failed) < daemonPause {
				return nil, why
			}
			if why = a.ensureDaemon(ctx, t.place); why != nil {
				failed = time.Now()
				return nil, why
			}
			now := a.inFolder(a.folder) // this daemon may have read another configuration than the one before
			s, err := now.loadForDaemon()
			if err == nil {
				t.join, err = now.joinOf(s, server.Name)
			}
			if err != nil {
				return nil, err
			}
			return t.dial(ctx)
		},
	}
	// The daemon speaks either era for all servers as one, and for a server that it does not know yet. Were both tried,
	// the refusal of the second would hide why the server does not start.
	return true, a.serveStarter(ctx, []host.Server{t.entry}, gateway.Config{Bare: true, SameEra: true})
}

// pumpControl passes the bytes of an editor on stdin and stdout on to the daemon, which it starts if
// need be, and back. It ends when either of them ends.
func (a *app) pumpControl(ctx context.Context) error {
	ctx, end := untilOrphaned(ctx)
	defer end()
	place, err := a.daemonPlace()
	if err != nil {
		return err
	}
	if err := a.ensureDaemon(ctx, place); err != nil {
		return err
	}
	conn, _, err := place.Open(ctx, daemon.Request{Want: daemon.Control})
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := standardStream()
	if err != nil {
		return err
	}
	a.endless = true
	defer context.AfterFunc(ctx, func() { conn.Close(); stream.Close() })()
	go func() {
		io.Copy(conn, stream)
		conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	if err == nil {
		err = stream.CloseWrite()
	}
	stream.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// sharesServers defines --shared.
func sharesServers(cmd *cobra.Command, shared *bool) {
	cmd.Flags().BoolVar(shared, "shared", false, "use the daemon and its servers")
}
