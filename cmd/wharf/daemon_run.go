package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/listener"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/control"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/localsocket"
)

// daemonRun is a run of the daemon: the editors and programs that it serves.
type daemonRun struct {
	app     *app
	ctx     context.Context // ends with the run
	end     context.CancelCauseFunc
	place   daemon.Place
	log     string // the file that it logs to; "" is the stderr with which it was run
	since   time.Time
	present *daemon.Clients // editors and programs

	editors, programs atomic.Int64
	worlds            worlds
	told              atomic.Pointer[control.Control] // is control, for those that cannot wait for mu

	mu       sync.Mutex
	control  *control.Control // nil until the first editor comes
	host     *host.Host       // of control
	stopping []io.Closer      // connections that end with the process, to say that it has ended
}

const (
	daemonClients = 256              // it serves at once
	firstWord     = 10 * time.Second // a client may take to say what it wants
)

// errUnused ends a daemon that no client uses. errStopped ends one that was told to.
var (
	errUnused  = errors.New("no client uses the daemon")
	errStopped = errors.New("the daemon was stopped")
)

// runDaemon is the daemon until no client has used it for the time idle, or until it is told to end.
func (a *app) runDaemon(ctx context.Context, idle time.Duration, detached bool) error {
	place, err := a.daemonPlace()
	if err != nil {
		return err
	}
	file, err := a.configPath()
	if err != nil {
		return err
	}
	if a.flags.config != "" || isThere(file) {
		a.flags.config = file // for editors, which have the servers of no project
	}
	if _, err := a.load(); err != nil {
		return err
	}
	if err := os.Chdir(homeFolder()); err != nil {
		return err
	}
	l, err := localsocket.Listen(place.Socket())
	if err != nil {
		hint := "`wharf daemon status` lists the daemons that run"
		if errors.Is(err, localsocket.ErrServed) {
			hint += ", and `wharf daemon stop` ends this one"
		}
		return exit.Usage(err, "%s", hint)
	}
	defer l.Close()
	logFile := ""
	if detached {
		os.Unsetenv(host.NestedEnv) // it outlives the hosts above
		logFile = place.Log()
		log, err := daemon.OpenLog(logFile)
		if err != nil {
			return err
		}
		defer log.Close()
		a.Err = log
	}
	d := &daemonRun{app: a, place: place, log: logFile, since: time.Now()}
	d.ctx, d.end = context.WithCancelCause(ctx)
	defer d.end(nil)
	d.worlds.app, d.worlds.file, d.worlds.ctx, d.worlds.onClient = a, file, d.ctx, d.tellClient
	d.worlds.started = detached
	d.worlds.running.Go(d.worlds.follow)
	d.present = daemon.Await(idle, func() { d.end(errUnused) })
	defer d.present.Stop()
	d.worlds.present = d.present
	d.say("the daemon listens at %s", place.Socket())
	if err := a.PrintJSON(served{Socket: place.Socket()}); err != nil {
		return err
	}
	a.endless = true
	err = listener.Clients(d.ctx, l, daemonClients, daemonFull(), d.serve)
	d.end(err)
	d.say("the daemon ends: %v", err)
	d.close()
	if errors.Is(err, errUnused) || errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// daemonFull is what a client is told that finds no place, be it an editor or a run of the program.
func daemonFull() []byte {
	const why = "%d clients are served, which is the most"
	return fmt.Appendf(nil, `{"refused":"`+why+`","jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"`+why+`"}}`+"\n", daemonClients, daemonClients)
}

// say writes a line to the log.
func (d *daemonRun) say(format string, v ...any) {
	fmt.Fprintf(d.app.Err, "%s %s\n", time.Now().Format(time.DateTime), fmt.Sprintf(format, v...))
}

// serve serves one client, and closes its connection.
func (d *daemonRun) serve(ctx context.Context, conn io.ReadWriteCloser) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	r, err := daemon.First(conn, firstWord)
	switch {
	case !stop() || err != nil:
		conn.Close()
		return
	case r != nil && r.Want == daemon.Status: // a look at the daemon does not use it
		daemon.Reply(conn, d.answer(ctx, r))
		conn.Close()
		return
	case !d.present.Enter():
		conn.Close()
		return
	}
	defer d.present.Leave()
	switch {
	case r == nil:
		err = d.serveEditor(ctx, conn)
	case r.Want == daemon.Control:
		if err = daemon.Reply(conn, daemon.Answer{}); err == nil {
			err = d.serveEditor(ctx, conn)
		}
	case r.Want == daemon.Join:
		err = d.join(ctx, conn, r)
	case r.Want == daemon.Stop:
		daemon.Reply(conn, daemon.Answer{})
		d.mu.Lock()
		d.stopping = append(d.stopping, conn)
		d.mu.Unlock()
		d.end(errStopped)
		return
	default:
		err = daemon.Reply(conn, d.answer(ctx, r))
	}
	conn.Close()
	if err != nil && ctx.Err() == nil {
		d.say("the connection of a client broke: %v", err)
	}
}

// answer answers a request that needs no connection.
func (d *daemonRun) answer(ctx context.Context, r *daemon.Request) daemon.Answer {
	switch r.Want {
	case daemon.Stay:
		return daemon.Answer{}
	case daemon.Status:
		return daemon.Answer{Status: &daemon.State{
			PID: os.Getpid(), Version: release.Version(), Config: d.app.flags.config, Socket: d.place.Socket(), Log: d.log,
			Since: d.since, Editors: int(d.editors.Load()), Clients: int(d.programs.Load()),
		}}
	case daemon.Era:
		w, err := d.worlds.enter(ctx, r)
		if err != nil {
			return daemon.Answer{Refused: err.Error()}
		}
		defer w.clients.Leave()
		editors := d.told.Load()
		return daemon.Answer{Era: string(w.gateway.Era(r.Server)), Stopped: editors != nil && editors.Stopped(r.Server)}
	}
	return daemon.Answer{Refused: fmt.Sprintf("it knows no request %q", r.Want)}
}

// join serves MCP to a program.
func (d *daemonRun) join(ctx context.Context, conn io.ReadWriteCloser, r *daemon.Request) error {
	w, err := d.worlds.enter(ctx, r)
	if err != nil {
		return daemon.Reply(conn, daemon.Answer{Refused: err.Error()})
	}
	defer w.clients.Leave()
	d.programs.Add(1)
	defer d.programs.Add(-1)
	if err := daemon.Reply(conn, daemon.Answer{}); err != nil {
		return err
	}
	if !r.Opens {
		ctx = gateway.WithoutBrowser(ctx)
	}
	if r.Server == "" {
		return w.gateway.ServeConn(ctx, conn)
	}
	return w.gateway.ServeBare(ctx, conn, r.Server, r.InTurn)
}

// serveEditor serves an editor that speaks the control protocol.
func (d *daemonRun) serveEditor(ctx context.Context, conn io.ReadWriteCloser) error {
	c, err := d.forEditors()
	if err != nil {
		return err
	}
	d.editors.Add(1)
	defer d.editors.Add(-1)
	return c.ServeConn(ctx, conn)
}

// forEditors returns what serves editors. It is made for the first one.
func (d *daemonRun) forEditors() (*control.Control, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.control != nil {
		return d.control, nil
	}
	gateways := &control.Gateways{Status: d.worlds.gatewayStatus, Clients: d.worlds.gatewayClients}
	c, h, err := d.app.inFolder("").openControl(d.ctx, true, gateways) // editors in many folders share the servers, so these are of no project
	if err == nil {
		d.control, d.host = c, h
		d.told.Store(c)
	}
	return c, err
}

// tellClient tells editors of a client that has come or left.
func (d *daemonRun) tellClient(c gateway.Client, left bool) {
	if editors := d.told.Load(); editors != nil {
		editors.TellClient(clientForEditors(c), left)
	}
}

// close ends what the clients have used.
func (d *daemonRun) close() {
	d.mu.Lock()
	c, h := d.control, d.host
	d.mu.Unlock()
	if c != nil {
		c.Close()
		h.Close()
	}
	d.worlds.running.Wait()
}
