package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/control"
	"github.com/wharf-mcp/wharf/host/gateway"
)

const (
	maxWorlds = 64               // of a daemon
	worldIdle = 10 * time.Minute // a world is kept without a client
	lingering = 5 * time.Minute  // a server is, see [gateway.Config.Linger]
)

// world is the servers as programs in one folder see them.
type world struct {
	folder  string
	gateway *gateway.Gateway
	prints  prints
	rules   *liveRules
	clients *daemon.Clients
}

// worlds are the worlds of a daemon.
type worlds struct {
	app      *app                              // of the daemon
	ctx      context.Context                   // of its run
	onClient func(c gateway.Client, left bool) // is told of the clients of all
	running  sync.WaitGroup                    // the goroutines of worlds, and of follow

	mu    sync.Mutex          // held while a world is made
	open  map[string]*world   // those that new clients get, by folder
	alive map[*world]struct{} // those, and the older ones that still have clients
}

// errOther says that a program would start another server than the daemon has.
var errOther = errors.New("the configuration, a variable or the working folder is another one than the daemon has")

// enter returns the world in which a request is carried out. The caller calls Leave of its clients. The
// configuration is read anew, and if it has changed in more than who may call what, the world is made anew:
// clients of the old world stay there.
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
	if w != nil && w.prints.fixed == now.fixed && w.clients.Enter() {
		return w, w.rules.amend(s, w.gateway)
	}
	if w == nil && len(all.open) >= maxWorlds {
		return nil, fmt.Errorf("it serves programs in %d folders, which is the most", maxWorlds)
	}
	if w, err = all.begin(a, s, now, r.Folder); err != nil {
		return nil, err
	}
	if all.open == nil {
		all.open, all.alive = make(map[string]*world), make(map[*world]struct{})
	}
	all.open[r.Folder], all.alive[w] = w, struct{}{}
	w.clients.Enter()
	return w, nil
}

// begin makes a world, which ends when no client has used it for a while. The caller holds mu.
func (all *worlds) begin(a *app, s *settings, now prints, folder string) (*world, error) {
	rules, err := newLiveRules(s)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(all.ctx)
	w := &world{folder: folder, prints: now, rules: rules}
	w.clients = daemon.Await(worldIdle, end)
	ready := make(chan error, 1)
	all.running.Go(func() {
		defer end()
		defer w.clients.Stop()
		ready <- a.serveClients(ctx, inFolder(s.wanted(), folder), gateway.Config{Linger: lingering, OnClient: all.onClient}, func(g *gateway.Gateway, _ []host.Server) error {
			w.gateway = g
			ready <- nil
			<-ctx.Done()
			all.mu.Lock()
			defer all.mu.Unlock()
			if all.open[folder] == w {
				delete(all.open, folder)
			}
			delete(all.alive, w)
			return nil
		}, rules.decide)
	})
	return w, <-ready
}

// living returns the worlds that have clients, or had some lately.
func (all *worlds) living() []*world {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Collect(maps.Keys(all.alive))
}

// follow has who may call what be as the configuration says, in all worlds, until the daemon ends. It warns of a
// mistake once for all folders, until that is mended.
func (all *worlds) follow() {
	a := all.app.inFolder("")
	a.settings = all.app.settings
	w := a.watchConfig()
	var told map[string][]string
	w.run(all.ctx, func() {
		mistakes := make(map[string][]string) // the folders where each counts
		for _, one := range all.living() {
			s, err := all.app.inFolder(one.folder).load()
			if err == nil {
				w.follow(s)
				err = one.rules.amend(s, one.gateway)
			}
			if err != nil {
				mistakes[err.Error()] = append(mistakes[err.Error()], plain.Line(one.folder))
			}
		}
		for _, why := range slices.Sorted(maps.Keys(mistakes)) {
			if told[why] == nil {
				slices.Sort(mistakes[why])
				a.Warn("who may call what in %s is as before: %s", strings.Join(slices.Compact(mistakes[why]), ", "), why)
			}
		}
		told = mistakes
	})
}

// gatewayClients returns the clients of all worlds for editors, the oldest first.
func (all *worlds) gatewayClients() []control.GatewayClient {
	list := []control.GatewayClient{}
	for _, w := range all.living() {
		for _, c := range w.gateway.Clients() {
			list = append(list, clientForEditors(c))
		}
	}
	slices.SortStableFunc(list, func(a, b control.GatewayClient) int { return a.Since.Compare(b.Since) })
	return list
}

func clientForEditors(c gateway.Client) control.GatewayClient {
	return control.GatewayClient{
		ID: c.ID, Name: c.Name, Version: c.Version, Kind: string(c.Kind), Era: c.Era, Principal: c.Principal, Peer: c.Peer,
		Since: c.Since, InFlight: c.InFlight, All: c.Server == "", Servers: c.Servers,
	}
}

// gatewayStatus returns the counts of all worlds for editors.
func (all *worlds) gatewayStatus() (s control.GatewayStatus) {
	for _, w := range all.living() {
		m := w.gateway.Metrics()
		s.Gateways++
		s.Clients += len(w.gateway.Clients())
		s.InFlight += m.InFlight
		s.Served += m.LegacyClients + m.ModernClients
		s.Requests += m.Requests
		s.Failed += m.Failed + m.Invalid + m.Cancelled
	}
	return s
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
