package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/control"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/trust"
)

const (
	maxWorlds = 64               // of a daemon
	worldIdle = 10 * time.Minute // a world is kept without a client
	lingering = 5 * time.Minute  // a server is, see [gateway.Config.Linger]
	taskTime  = 24 * time.Hour   // a server that runs a task is, at most
)

// viewpoint is where programs see the same servers.
type viewpoint struct {
	folder string
	named  bool // their configuration file was named, so that no project counts
}

// world is the servers as programs at one viewpoint see them.
type world struct {
	viewpoint
	gateway *gateway.Gateway
	prints  prints
	rules   *liveRules
	clients *daemon.Clients
}

// worlds are the worlds of a daemon.
type worlds struct {
	app      *app                              // of the daemon
	file     string                            // the configuration file of the daemon
	ctx      context.Context                   // of its run
	onClient func(c gateway.Client, left bool) // is told of the clients of all
	present  *daemon.Clients                   // of the daemon
	started  bool                              // a client has started the daemon, with an environment of its own
	running  sync.WaitGroup                    // the goroutines of worlds, and of follow
	watcher  atomic.Pointer[configWatcher]     // of follow; nil before it

	mu    sync.Mutex           // held while a world is made
	open  map[viewpoint]*world // those of the newest configuration
	alive []*world             // those, and the ones of older configurations that had clients lately; the oldest first
}

// errOther says that a program would start another server than the daemon has.
var errOther = errors.New("the configuration, a variable or the working folder is another one than the daemon has")

// enter returns the world in which a request is carried out. The caller calls Leave of its clients. The
// configuration is read anew, and if it has changed in more than who may call what, the world is made anew:
// clients of the old world stay there, and those of one server go there while it runs that server as they want it.
func (all *worlds) enter(ctx context.Context, r *daemon.Request) (*world, error) {
	if !filepath.IsAbs(r.Folder) {
		return nil, errors.New("expected the whole path of the working folder")
	}
	at := viewpoint{r.Folder, r.Named}
	a := all.at(at)
	s, err := a.load()
	if err != nil {
		return nil, err
	}
	now := a.prints(s, r.Folder)
	if print, err := now.of(r.Server); err != nil || print != r.Print {
		return nil, errors.Join(errOther, err)
	}
	if err := a.addApprovals(ctx, s, &now); err != nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, w := range all.fitting(at, r.Server, &now) {
		if w.clients.Enter() {
			return w, w.rules.amend(s, w.gateway)
		}
	}
	if all.open[at] == nil && len(all.open) >= maxWorlds {
		return nil, fmt.Errorf("it serves programs in %d folders, which is the most", maxWorlds)
	}
	w, err := all.begin(a, s, now, at)
	if err != nil {
		return nil, err
	}
	if all.open == nil {
		all.open = make(map[viewpoint]*world)
	}
	all.open[at], all.alive = w, append(all.alive, w)
	all.watcher.Load().again() // it has the files of another project
	w.clients.Enter()
	return w, nil
}

// addApprovals adds to the fingerprints of processes what the servers of the project are approved as: what was
// started before the approval of now is another process.
func (a *app) addApprovals(ctx context.Context, s *settings, p *prints) error {
	t, err := a.trust()
	if err != nil || len(s.project()) == 0 {
		return err
	}
	for _, l := range t.List(ctx, s.project()) {
		if name := l.Approval.Server; l.Approval.State == trust.Approved {
			p.process[name] = hashed(p.process[name] + l.Approval.Hash)
			p.fixed = hashed(p.fixed + p.process[name])
		}
	}
	return nil
}

// at returns the program as it would be at a viewpoint.
func (all *worlds) at(s viewpoint) *app {
	a := all.app.inFolder(s.folder)
	if a.flags.config = ""; s.named {
		a.flags.config = all.file
	}
	return a
}

// fitting returns the worlds that a request may enter by the configuration as it is now, the best first: those
// that run the one server which it wants, and then the newest. The caller holds mu.
func (all *worlds) fitting(at viewpoint, server string, now *prints) (fit []*world) {
	for _, w := range all.alive {
		same := w.viewpoint == at && server != "" && w.prints.process[server] == now.process[server]
		if same && w.gateway.Metrics().Connected[server] {
			fit = append(fit, w)
		}
	}
	if w := all.open[at]; w != nil && w.prints.fixed == now.fixed {
		fit = append(fit, w)
	}
	return fit
}

// begin makes a world, which ends when no client has used it for a while. The caller holds mu.
func (all *worlds) begin(a *app, s *settings, now prints, at viewpoint) (*world, error) {
	rules, err := newLiveRules(s)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(all.ctx)
	w := &world{viewpoint: at, prints: now, rules: rules}
	w.clients = daemon.Await(worldIdle, end)
	ready := make(chan error, 1)
	if all.started {
		a.flags.browser = true // each client says for itself whether pages are opened
	}
	config := gateway.Config{Linger: lingering, TaskTime: taskTime, Hold: func() func() { return all.hold(w) }, OnClient: all.onClient}
	all.running.Go(func() {
		defer end()
		defer w.clients.Stop()
		ready <- a.serveClients(ctx, s.wanted(), config, func(g *gateway.Gateway, _ []host.Server) error {
			w.gateway = g
			ready <- nil
			<-ctx.Done()
			all.mu.Lock()
			defer all.mu.Unlock()
			if all.open[at] == w {
				delete(all.open, at)
			}
			all.alive = slices.DeleteFunc(all.alive, func(one *world) bool { return one == w })
			return nil
		}, rules.decide, func(c *host.Config) { c.Folder = at.folder })
	})
	return w, <-ready
}

// hold keeps a world, and the daemon, as a client does.
func (all *worlds) hold(w *world) (release func()) {
	inWorld, inDaemon := w.clients.Enter(), all.present.Enter()
	return func() {
		if inWorld {
			w.clients.Leave()
		}
		if inDaemon {
			all.present.Leave()
		}
	}
}

// living returns the worlds that have clients, or had some lately.
func (all *worlds) living() []*world {
	all.mu.Lock()
	defer all.mu.Unlock()
	return slices.Clone(all.alive)
}

// follow has who may call what be as the configuration and the projects say, in all worlds, until the daemon ends. It
// warns of a mistake once for all folders, until that is mended.
func (all *worlds) follow() {
	a := all.app.inFolder("")
	a.settings = all.app.settings
	w := a.watchConfig()
	all.watcher.Store(w)
	w.again() // for the worlds that are there
	var told toldMistakes
	w.run(all.ctx, func() {
		mistakes := make(map[string][]string) // the folders where each counts
		errs := make(map[string]error)        // by their texts
		now, narrowing := a.settings, []string{}
		for _, one := range all.living() {
			s, err := all.at(one.viewpoint).load()
			if err == nil {
				now, narrowing = s, append(narrowing, s.narrowing()...)
				err = one.rules.amend(s, one.gateway)
			}
			if err != nil {
				why := err.Error()
				errs[why], mistakes[why] = err, append(mistakes[why], plain.Line(one.folder))
			}
		}
		w.follow(now, narrowing...)
		for _, why := range told.news(slices.Collect(maps.Keys(mistakes))) {
			slices.Sort(mistakes[why])
			a.Warn("%s", standing(" in "+strings.Join(slices.Compact(mistakes[why]), ", "), errs[why]))
		}
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
