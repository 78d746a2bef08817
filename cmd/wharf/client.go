package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// client is a host with one session, for the length of one command. Its owner closes
// it.
type client struct {
	app     *app
	host    *host.Host
	session *host.Session
	entry   host.Server // that the session was made from

	cancelled bool // a request was under way when the program was interrupted
}

// dial starts a host and connects it to one server.
func (a *app) dial(ctx context.Context, server host.Server) (*client, error) {
	a.server = server.Name
	limit, err := a.flags.timeout.request()
	if err != nil {
		return nil, err
	}
	server = a.flags.withTimeout(server)
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
	return &client{app: a, host: h, session: session, entry: server}, nil
}

// withTimeout gives an entry the timeout of the flag, which goes before its own. That of
// the environment goes behind it.
func (f *flags) withTimeout(server host.Server) host.Server {
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

// close ends the session and the host. The result is out by then, so what goes
// wrong here is of no use to anyone.
func (c *client) close() {
	if c.cancelled {
		c.settle()
	}
	c.session.Close()
	c.host.Close()
}

// settleGrace is how long a server may take to notice that it was told to stop.
const settleGrace = time.Second

// settle gives the server a moment to hear of the cancellation that was sent, so
// that it can clean up before its stdin ends: until it answers a ping that is sent
// after it. A server that is too busy to notice gets the grace and no more.
func (c *client) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), settleGrace)
	defer cancel()
	defer c.app.Busy("telling " + c.session.Name() + " to stop; interrupt again to leave at once")()
	c.session.Ping(ctx)
}

// ended notes a request that an interrupt has ended, and returns its error.
func (c *client) ended(err error) error {
	if err != nil && c.app.Interrupted() {
		c.cancelled = true
	}
	return err
}

func (c *client) tools(ctx context.Context) ([]mcp.Tool, error) {
	defer c.app.Busy("asking " + c.session.Name() + " for its tools")()
	tools, err := c.session.ListTools(ctx)
	return tools, c.ended(err)
}

// visit is what most commands do: find the server that the command line is
// about, connect, ask it something, and leave. use gets the words that are left;
// how many there may be, check says.
func (a *app) visit(check cobra.PositionalArgs, use func(ctx context.Context, c *client, words []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		server, words, err := a.target(cmd, args)
		if err != nil {
			return err
		}
		if err := check(cmd, words); err != nil {
			return err
		}
		c, err := a.dial(cmd.Context(), server)
		if err != nil {
			return err
		}
		defer c.close()
		return use(cmd.Context(), c, words)
	}
}

// ask is one request, with a sign of life while it takes its time. It is for what
// is typed; a server that does not declare it gets a hint.
func ask[T any](ctx context.Context, c *client, what string, request func(context.Context) (T, error)) (T, error) {
	defer c.app.Busy(what)()
	result, err := request(ctx)
	c.ended(err)
	if errors.Is(err, host.ErrUnsupported) {
		err = exit.WithHint(err, "`wharf request` asks a server whatever it declares")
	}
	return result, err
}
