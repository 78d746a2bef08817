package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
)

// client is a host with one session, for the length of one command. Its owner closes
// it.
type client struct {
	app     *app
	host    *host.Host
	session *host.Session
	entry   host.Server // that the session was made from
	joined  bool        // the session is with the daemon, which lists what the entry permits

	cancelled bool // a request was under way when the program was interrupted
}

// dial starts a host and connects it to one server.
func (a *app) dial(ctx context.Context, server host.Server) (*client, error) {
	a.server = server.Name
	if err := a.checkFolder(); err != nil {
		return nil, err
	}
	if k := a.shell; k != nil {
		return &client{app: a, host: k.host, session: k.session, entry: k.entry}, nil
	}
	limit, err := a.flags.timeout.request()
	if err != nil {
		return nil, err
	}
	server = a.flags.withTimeout(server)
	log := a.NewHeldLog()
	if a.Quiet {
		log.Hush()
	}
	shared := a.joinable(ctx, server)
	options := []func(*host.Config){a.flags.roots.letRoots, func(c *host.Config) { c.StartTimeout = limit }}
	if a.CanAsk() || a.flags.mayAsk() {
		options = append(options, a.letSignIn)
	}
	letAsk, err := a.letAsk(server)
	if err != nil {
		return nil, err
	}
	options = append(options, letAsk)
	h, err := a.newHost(ctx, log, options...)
	if err != nil {
		return nil, err
	}
	switch name := a.nameBehind(); name { // only few of these are flags of servers
	case "--timeout", "--json", "--output", "-o", "--no-validate":
		a.Warn("%s comes after --, so it is for %s; %s", name, plain.Word(server.Name), a.lineBefore())
	}
	defer a.Busy("connecting to " + server.Name)()
	defer time.AfterFunc(logAfter, log.Release).Stop()
	err = h.Approve(ctx, server)
	var session *host.Session
	if err == nil && shared != nil {
		if session, _ = a.connectThrough(ctx, h, shared); session == nil { // then the error is that of the server itself
			h.Close()
			a.streams, shared = nil, nil
			if h, err = a.newHost(ctx, log, options...); err != nil {
				return nil, err
			}
		}
	}
	if err == nil && shared == nil {
		session, err = connect(ctx, h, server)
	}
	if err != nil {
		h.Close()
		return nil, a.explainDial(server, err)
	}
	if a.flags.stderr || a.logs {
		log.Release()
	} else {
		log.Hush() // of no interest while all is well, and an error quotes the end of it
	}
	return &client{app: a, host: h, session: session, entry: server, joined: shared != nil}, nil
}

// explainDial adds to the error of a dial a hint at what may be wrong with the command line. If a
// person has to sign in and cannot be asked to, the error says so instead.
func (a *app) explainDial(server host.Server, err error) error {
	if a.behind != nil && errors.Is(err, host.ErrTimeout) {
		err = exit.WithHint(err, fmt.Sprintf("%s comes after --, so the server got it; %s", a.nameBehind(), a.lineBefore()))
	}
	if line := runner(server.Command, server.Args); a.adHoc && line != nil && errors.Is(err, host.ErrUnreachable) {
		before := a.argv[:max(0, slices.Index(a.argv, "--"))]
		err = exit.WithHint(err, lineHint(append([]string{"wharf"}, before...), "it is a file of this folder", append([]string{"--"}, line...)))
	}
	if dash := slices.Index(a.argv, "--"); a.adHoc && dash > 2 && a.shell == nil {
		s, _ := a.load()
		if _, missing := host.Locate(server); missing != nil && s != nil && s.has(a.argv[1]) {
			err = exit.WithHint(err, a.undashed(s, dash))
		}
	}
	if s, _ := a.load(); s != nil && !a.adHoc && (errors.Is(err, host.ErrTimeout) || errors.Is(err, host.ErrUnreachable)) {
		if note := s.misspelt(server.Name); note != "" {
			err = exit.WithHint(err, note)
		}
	}
	if a.address != "" && errors.Is(err, host.ErrAuthRequired) && server.Headers["Authorization"] != "" {
		err = exit.WithHint(err, "the server does not take the Authorization that -H gave it: is it whole, as in -H 'Authorization: Bearer TOKEN'? Without it, a sign-in counts")
	}
	if hint := installing(server.Via()); hint != "" && errors.Is(err, host.ErrUnknownTransport) {
		err = exit.WithHint(err, hint)
	}
	return a.explainSignIn(server, err)
}

// undashed returns the hint for a line of a known server that has arguments of a tool after --, at dash.
func (a *app) undashed(s *settings, dash int) string {
	where := "after -- comes a command that starts a server; " + plain.Word(a.argv[1]) + " is a server already"
	server, _ := s.find(a.argv[1])
	schema := knownSchema(server, a.argv[2])
	line := slices.Clone(a.argv[:dash])
	for _, word := range a.argv[dash+1:] {
		key, text, found := strings.Cut(word, "=")
		switch {
		case !strings.HasPrefix(word, "-"):
		case !found:
			return where + ", and a text that begins with - is given by name: key=-…"
		case slices.Contains(schema.Names(), key):
			word = schema.Object(key, text)
		default:
			word = strings.TrimLeft(word, "-")
		}
		line = append(line, word)
	}
	return lineHint([]string{"wharf"}, where, line)
}

// explainSignIn replaces the error of a server that a person has to sign in to, if the person cannot be asked.
func (a *app) explainSignIn(server host.Server, err error) error {
	// What a server at a url answers is a page of HTTP; other transports say what is wrong.
	if server.URL == "" || !errors.Is(err, host.ErrLogin) || errors.Is(err, signin.ErrSavedRefused) || a.CanAsk() || a.flags.mayAsk() {
		return err
	}
	return &signInNeeded{server.Name, err}
}

// signInNeeded replaces the error of a server that a person has to sign in to, if the person
// cannot be asked. `wharf doctor` shows all that the server answered.
type signInNeeded struct {
	server string
	err    error
}

func (e *signInNeeded) Error() string {
	if missing := (*signin.RightsError)(nil); errors.As(e.err, &missing) {
		which := ""
		if missing.Scope != "" {
			which = ": " + plain.Name(missing.Scope, plain.NameColumns)
		}
		return fmt.Sprintf("the sign-in to %s does not give the rights for this%s; there is no terminal to sign in at%s", e.server, which, answeredWith(host.RefusalText(e.err)))
	}
	return wantsSignIn(e.server, host.RefusalText(e.err))
}

func (e *signInNeeded) Unwrap() error { return e.err }

// logAfter is how long a server may start before its stderr is shown: the server may say there
// what it waits for.
const logAfter = 5 * time.Second

// withTimeout gives an entry the timeout of the flag, which overrides its own. The
// timeout of the environment does not.
func (f *flags) withTimeout(server host.Server) host.Server {
	if limit, err := f.timeout.request(); f.timeout.given && err == nil {
		server.Timeout, server.StartTimeout = limit, limit
	}
	return server
}

// connect connects to a server, with a hint at the scheme of its url.
func connect(ctx context.Context, h *host.Host, server host.Server) (*host.Session, error) {
	session, err := h.Connect(ctx, server)
	if strings.HasPrefix(server.URL, "https:") && errors.Is(err, io.EOF) {
		err = exit.WithHint(err, "if the server does not speak TLS, its url begins with http://")
	}
	if path, is := strings.CutPrefix(server.URL, "unix://"); is && err != nil && strings.Contains(err.Error(), "malformed HTTP") { // net/http has no kind for it
		path, _, _ = strings.Cut(path, "#")
		err = exit.WithHint(err, fmt.Sprintf("a url unix:// is for HTTP over a socket; where its server speaks MCP without HTTP, as `wharf serve --unix` does, "+
			"write an entry with transport = \"socket\" and address = %q in place of the url; `wharf plugin add socket` installs that plugin", "unix:"+path))
	}
	return session, err
}

// connectThrough connects a server of the daemon. If its era was not known, it connects it once more, in
// its era.
func (a *app) connectThrough(ctx context.Context, h *host.Host, t *throughDaemon) (*host.Session, error) {
	session, err := connect(ctx, h, t.entry)
	if err != nil || t.entry.Protocol != "" {
		return session, err
	}
	session.Close()
	if err := a.askEra(ctx, t); err != nil {
		return nil, err
	}
	return connect(ctx, h, t.entry)
}

// close ends the session and the host. The result has been printed by then, so errors
// are dropped.
func (c *client) close() {
	if c.app.shell != nil {
		return // the shell closes what it keeps
	}
	if c.cancelled {
		c.awaitCancellation()
	}
	c.awaitEvents()
	c.session.Close()
	c.host.Close()
}

// awaitEvents waits until the events that have come from the server so far are printed.
// Without that, a log message or a warning from before the result could be printed after
// it.
func (c *client) awaitEvents() {
	ctx, cancel := context.WithTimeout(c.app.hurried(), lastWords)
	defer cancel()
	c.host.AwaitEvents(ctx)
}

// lastWords bounds awaitEvents. A full queue is printed in less time, unless the reader of a pipe
// is slow.
const lastWords = 2 * time.Second

// cancelGrace is how long a server may take to notice a cancellation.
const cancelGrace = time.Second

// awaitCancellation returns when the server has answered a ping that follows the cancellation, or
// after cancelGrace. So the server can clean up before its stdin ends.
func (c *client) awaitCancellation() {
	ctx, cancel := context.WithTimeout(c.app.hurried(), cancelGrace)
	defer cancel()
	defer c.app.Busy("telling " + c.session.Name() + " to stop; interrupt again to leave at once")()
	c.session.Ping(ctx)
}

// ended notes whether an interrupt has ended a request, and returns its error, as explainSignIn has it. In a shell it tells
// of a new connection.
func (c *client) ended(err error) error {
	if k := c.app.shell; k != nil {
		k.note()
	}
	if err != nil && c.app.Interrupted() {
		c.cancelled = true
	}
	return c.app.explainSignIn(c.entry, err)
}

func (c *client) tools(ctx context.Context) ([]mcp.Tool, error) {
	defer c.app.Busy("asking " + c.session.Name() + " for its tools")()
	tools, err := c.session.ListTools(ctx)
	return tools, c.ended(err)
}

// withServer returns a command that uses one server. The command finds the server that the
// command line is about, connects, calls use with the words that are left, and closes the
// session. check checks the number of those words.
func (a *app) withServer(check cobra.PositionalArgs, use func(ctx context.Context, c *client, words []string) error) func(*cobra.Command, []string) error {
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

// ask makes one request, and shows that it is under way. The error for a server that
// does not declare the feature has a hint.
func ask[T any](ctx context.Context, c *client, what string, request func(context.Context) (T, error)) (T, error) {
	defer c.app.Busy(what)()
	result, err := request(ctx)
	err = c.ended(err)
	if errors.Is(err, host.ErrUnsupported) {
		hint := "`wharf request` asks a server whatever it declares"
		if c.app.shell != nil {
			hint = `"request" asks the server whatever it declares`
		}
		err = exit.WithHint(err, hint)
	}
	return result, err
}
