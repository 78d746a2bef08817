package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/plugins"
)

// link is a host with one session, for the length of one command. Its owner
// closes it.
type link struct {
	app     *app
	host    *host.Host
	session *host.Session
	entry   host.Server // that the session was made from

	cancelled bool // a request was under way when the program was interrupted
}

// dial starts a host and connects it to one server.
func (a *app) dial(ctx context.Context, server host.Server) (*link, error) {
	a.server = server.Name
	limit, err := a.flags.timeout.request()
	if err != nil {
		return nil, err
	}
	server = a.flags.hurry(server)
	log := a.NewHeldLog()
	options := []func(*host.Config){a.flags.roots.letRoots}
	if a.CanAsk() || a.flags.mayAsk() {
		options = append(options, a.letSignIn)
	}
	if a.CanAsk() {
		options = append(options, a.letElicit(server))
	}
	h, err := a.newHost(ctx, log, options...)
	if err != nil {
		return nil, err
	}
	defer a.Busy("connecting to " + server.Name)()
	defer time.AfterFunc(term.BusyAfter, log.Release).Stop()
	err = h.Approve(ctx, server) // which takes a person's time, and none of the server's
	var session *host.Session
	if err == nil {
		session, err = connect(ctx, h, server, limit)
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	log.Release()
	return &link{app: a, host: h, session: session, entry: server}, nil
}

// hurry gives an entry the timeout of the flag, which goes before its own. That of
// the environment goes behind it.
func (f *flags) hurry(server host.Server) host.Server {
	if limit, err := f.timeout.request(); f.timeout.given && err == nil {
		server.Timeout = limit
	}
	return server
}

// connect gives up after limit, where there is one: servers have a longer time
// of their own to start in, and somebody who wants to wait less means that too. A
// plugin that has to be compiled first is not what they wait for, and has as long.
func connect(ctx context.Context, h *host.Host, server host.Server, limit time.Duration) (*host.Session, error) {
	if limit > 0 {
		if err := h.Prepare(ctx, server); err != nil {
			return nil, err
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &lateError{limit})
		defer cancel()
	}
	return h.Connect(ctx, server)
}

// lateError is the deadline of a connect.
type lateError struct{ limit time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("the server was not ready within %v", e.limit) }

// Is lets the error count as the deadline that it stands for.
func (e *lateError) Is(target error) bool { return target == context.DeadlineExceeded }

// newHost makes the host of a one-shot command. The lines that servers print on
// stderr go to log, under their names. The options change what it is made of.
func (a *app) newHost(ctx context.Context, log io.Writer, options ...func(*host.Config)) (*host.Host, error) {
	limit, err := a.flags.timeout.request()
	if err != nil {
		return nil, err
	}
	printer, err := trace.NewPrinter(os.Getenv("WHARF_TRACE"), a.Err)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("WHARF_TRACE: %w", err), "layers are rpc, abi and io, separated by commas")
	}
	if err := a.flags.apart(); err != nil {
		return nil, err
	}
	recorder, err := a.tape.record(a.flags.trace)
	if err != nil {
		return nil, err
	}
	record, err := a.reel.record(a.flags.record)
	if err != nil {
		return nil, err
	}
	c := host.Config{
		Plugins: plugins.Builtin(),
		Timeout: limit,
		Print:   printer,

		Trace:  recorder,
		Record: record,

		Stderr:  log,
		OneShot: true,
		Event:   a.hear,

		NoValidate: a.flags.noValidate,
	}
	// A server given on the spot has no entry, but the plugins have: where one runs
	// is not to be forgotten.
	configured, err := a.load()
	if err != nil {
		return nil, err
	}
	c.Files = configured.plugins
	// Without a cache the plugin is compiled each time: slower, not wrong.
	c.CacheDir, _ = host.DefaultCacheDir()
	c.VaultDir, _ = vault.DefaultDir()
	c.Worker, c.CompileTimeout = worker(), max(limit, 0)
	a.letApprove(&c)
	for _, option := range options {
		option(&c)
	}
	h, err := host.New(ctx, c)
	if err != nil {
		return nil, err
	}
	a.redact = h.Redact
	return h, nil
}

// close ends the session and the host. The result is out by then, so what goes
// wrong here is of no use to anyone.
func (l *link) close() {
	if l.cancelled {
		l.settle()
	}
	l.session.Close()
	l.host.Close()
}

// settleGrace is how long a server may take to notice that it was told to stop.
const settleGrace = time.Second

// settle gives the server a moment to hear of the cancellation that was sent, so
// that it can clean up before its stdin ends: until it answers a ping that is sent
// after it. A server that is too busy to notice gets the grace and no more.
func (l *link) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), settleGrace)
	defer cancel()
	defer l.app.Busy("telling " + l.session.Name() + " to stop; interrupt again to leave at once")()
	l.session.Ping(ctx)
}

// ended notes a request that an interrupt has ended, and returns its error.
func (l *link) ended(err error) error {
	if err != nil && l.app.Interrupted() {
		l.cancelled = true
	}
	return err
}

func (l *link) tools(ctx context.Context) ([]mcp.Tool, error) {
	defer l.app.Busy("asking " + l.session.Name() + " for its tools")()
	tools, err := l.session.ListTools(ctx)
	return tools, l.ended(err)
}

// call returns the result as the server wrote it, so that nothing of it is
// lost on the way to stdout. The server is asked how far it is, whether a
// terminal shows it or not: a call that goes on gets the time that it needs.
func (l *link) call(ctx context.Context, tool string, arguments args.Object) (json.RawMessage, error) {
	progress, done := l.app.Progress("calling " + tool)
	defer done()
	ctx = host.WithProgress(ctx, progress.Report)
	var result json.RawMessage
	err := l.session.Call(ctx, mcp.MethodCallTool, callParams{Name: tool, Arguments: arguments}, &result)
	if host.MaybeSent(err) {
		err = exit.WithHint(err, strings.TrimSuffix("the server may have had it, and acted on it\n"+host.Hint(err), "\n"))
	}
	return result, l.ended(err)
}

type callParams struct {
	Name      string      `json:"name"`
	Arguments args.Object `json:"arguments"`
}
