package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

const (
	maxWorlds = 64               // of a daemon
	worldIdle = 10 * time.Minute // a world is kept without a client
	lingering = 5 * time.Minute  // a server is, see [gateway.Config.Linger]
)

// world is the servers as programs in one folder see them.
type world struct {
	gateway *gateway.Gateway
	prints  prints
	clients *daemon.Clients
}

// worlds are the worlds of a daemon, by folder.
type worlds struct {
	app     *app            // of the daemon
	ctx     context.Context // of its run
	running sync.WaitGroup  // the goroutines of worlds

	mu   sync.Mutex // held while a world is made
	open map[string]*world
}

// errOther says that a program would start another server than the daemon has.
var errOther = errors.New("the configuration, a variable or the working folder is another one than the daemon has")

// enter returns the world in which a request is carried out. The caller calls Leave of its clients. The
// configuration is read anew, and if it has changed, the world is made anew: clients of the old world
// stay there.
func (all *worlds) enter(ctx context.Context, r *daemon.Request) (*world, error) {
	if !filepath.IsAbs(r.Folder) {
		return nil, errors.New("expected the whole path of the working folder")
	}
	a := all.app.inFolder(r.Folder)
	s, err := a.load()
	if err != nil {
		return nil, err
	}
	now := a.prints(s, r.Folder)
	if print, err := now.of(r.Server); err != nil || print != r.Print {
		return nil, errors.Join(errOther, err)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	w := all.open[r.Folder]
	if w != nil && w.prints.all == now.all && w.clients.Enter() {
		return w, nil
	}
	if w == nil && len(all.open) >= maxWorlds {
		return nil, fmt.Errorf("it serves programs in %d folders, which is the most", maxWorlds)
	}
	if w, err = all.begin(a, s, now, r.Folder); err != nil {
		return nil, err
	}
	if all.open == nil {
		all.open = make(map[string]*world)
	}
	all.open[r.Folder] = w
	w.clients.Enter()
	return w, nil
}

// begin makes a world, which ends when no client has used it for a while. The caller holds mu.
func (all *worlds) begin(a *app, s *settings, now prints, folder string) (*world, error) {
	ctx, end := context.WithCancel(all.ctx)
	w := &world{prints: now}
	w.clients = daemon.Await(worldIdle, end)
	ready := make(chan error, 1)
	all.running.Go(func() {
		defer end()
		defer w.clients.Stop()
		ready <- a.serveClients(ctx, inFolder(s.wanted(), folder), gateway.Config{Linger: lingering}, func(g *gateway.Gateway, _ []host.Server) error {
			w.gateway = g
			ready <- nil
			<-ctx.Done()
			all.mu.Lock()
			defer all.mu.Unlock()
			if all.open[folder] == w {
				delete(all.open, folder)
			}
			return nil
		})
	})
	return w, <-ready
}

// inFolder has commands without a dir run in a folder. Those of a project run where it is.
func inFolder(servers []host.Server, folder string) []host.Server {
	for i, s := range servers {
		if s.Command == "" || s.Project != nil || s.Dir != "" {
			continue
		}
		if expanded, err := s.Expand(os.LookupEnv); err == nil {
			expanded.Dir = folder
			servers[i] = expanded
		}
	}
	return servers
}
