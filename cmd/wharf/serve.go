package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/listener"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/localsocket"
	"github.com/wharf-mcp/wharf/host/telemetry"
)

// maxClients is how many clients the socket serves at once.
const maxClients = 64

// noPlace is the message to a client that is one too many. It asked nothing, so the id is null.
var noPlace = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"this socket serves %d clients, which is the most: one of them has to leave first"}}`+"\n", maxClients)

// addresses are the addresses to serve clients at; "" means that there is none of that kind.
type addresses struct{ http, socket string }

const serveLong = `Serve MCP clients: all your servers as one, where tools and prompts are called
SERVER__NAME, whatever transport and sign-in each server needs. A server is started when a
client first needs it. Clients of any revision of the protocol reach servers of any.

As one, all clients are shown what each server has listed last. A server that lists
something else for each client is reached better by wharf bridge, or at its own path. Of one
that is broken nothing is listed; stderr and the instructions of later clients say why.

A command is ended when no client uses it for some minutes, and started again by the next
request, unless it may keep what a client relies on: that is so once a tool of a server of
the older protocol was called. idle_stop in its entry decides otherwise.

Without an address the client is the program that starts this one, on stdin and stdout: it
ends when stdin ends, or when that program does. Once stdin has ended, calls under way may
take three seconds more, not counted while a server starts or a person signs in, and are
then cancelled.

With --unix clients come to a unix socket, in a folder that no other user can reach, and
speak as on stdin and stdout. It serves 64 at once, and only programs of your own user. The
folder is made if it is missing, and an empty file with .lock behind the name of the socket stays.

With --http clients come over Streamable HTTP, to /mcp, and at a path of its own to each
server as it is. ADDRESS is a port, or an address of this machine and a port; port 0 is
any that is free. Clients send the header Authorization: Bearer, with a token that is made
at the first start and kept in a file that only you can read. Pages of a browser are
refused, unless they are of this machine. Supervisors ask /health and /ready, without a
token; with --metrics Prometheus asks /metrics.

An address that other machines can reach, such as 0.0.0.0:8443, needs a table [serve] in
your configuration: TLS, the names of this machine, and how clients prove who they are.
Each is a principal, which may call what a table [access.NAME] allows it.

With an address it ends when it is interrupted, and with exit code 0 on SIGTERM, which managers
of services send. It takes no more calls then. Those under way may take three seconds, and are
then cancelled: their clients are told that the gateway is ending, and whether the server may
have acted.

Tables [access.NAME], a project's too, that are changed meanwhile count at once, and clients hear
of it if that changes what they are listed; all else is read at the start.

Where the tools of all servers have more than about 10,000 tokens, three take their place
that find, show and call tools; --search=off lists them all, for clients that search
by themselves.

With --shared and no address it uses the servers of the daemon, as all programs in this folder
do that offer a server the same (see wharf daemon). It starts them itself where the daemon would start others.

--print-config prints what to paste into the configuration of a client that starts it.`

func newServe(a *app) *cobra.Command {
	var (
		at       addresses
		search   = searchMode(searchModes[0])
		printFor string
		shared   bool
		metrics  bool
	)
	cmd := &cobra.Command{
		Use:     "serve [--unix [PATH]] [--http ADDRESS]",
		Short:   "Be all your servers as one, for editors and agents",
		Long:    serveLong,
		Example: "  wharf serve --print-config=claude\n  wharf serve --http 7777\n  wharf serve --unix",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if len(words) > 0 && (!cmd.Flags().Changed("unix") || at.socket != ownSocket) {
			return exit.Usage(fmt.Errorf("serve takes no word %q", words[0]), "all servers are served as one; for one server: `wharf bridge SERVER`")
		}
		if len(words) > 0 {
			at.socket = ""
			if err := cmd.Flags().Set("unix", words[0]); err != nil {
				return exit.Usage(err, "leave the path out for a socket in a folder of your own")
			}
		}
		s, err := a.load()
		err = cmp.Or(err, checkServing(cmd))
		for _, flag := range []string{"http", "unix", "search"} {
			err = cmp.Or(err, exclusive(cmd, "shared", flag))
		}
		for _, flag := range []string{"http", "unix"} {
			err = cmp.Or(err, exclusive(cmd, "print-config", flag))
		}
		if metrics && at.http == "" {
			err = cmp.Or(err, exit.Usage(errors.New("metrics are read over HTTP"), "say where, with --http ADDRESS"))
		}
		switch {
		case err != nil:
			return err
		case cmd.Flags().Changed("print-config"):
			words, err := a.configAnywhere()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("search") {
				words = append(words, "--search="+search.String())
			}
			lasting, err := a.lasting(shared)
			if err != nil {
				return err
			}
			return a.printConfig(printFor, "wharf", slices.Concat([]string{"serve"}, words, lasting), nil)
		case cmd.Flags().Changed("http"), cmd.Flags().Changed("unix"):
			return a.serveListening(cmd.Context(), s.wanted(), gateway.Config{Search: string(search)}, at, metrics)
		case a.InTTY:
			return exit.Usage(errors.New("serve talks to a program on stdin and stdout, and stdin is a terminal"),
				"`wharf serve --print-config=CLIENT` prints what an editor starts it with; over HTTP: `wharf serve --http 7777`")
		}
		if shared {
			if joined, err := a.serveShared(cmd.Context(), host.Server{}); joined || err != nil {
				return err
			}
		}
		return a.serveStarter(cmd.Context(), s.wanted(), gateway.Config{Search: string(search)})
	}
	cmd.Flags().StringVar(&at.http, "http", "", "listen at `ADDRESS` of this machine")
	cmd.Flags().Var(pathName{&at.socket, "socket"}, "unix", "listen at a unix socket, at `PATH` if one follows, else in a folder of your own")
	cmd.Flags().Lookup("unix").NoOptDefVal = ownSocket
	cmd.Flags().BoolVar(&metrics, "metrics", false, "answer Prometheus at /metrics, with the same token")
	cmd.Flags().Var(&search, "search", "have clients search for tools: auto, on or off")
	cmd.RegisterFlagCompletionFunc("search", cobra.FixedCompletions(searchModes, cobra.ShellCompDirectiveNoFileComp))
	printsConfig(cmd, &printFor)
	sharesServers(cmd, &shared)
	return cmd
}

// searchMode is the value of --search.
type searchMode string

var searchModes = []string{"auto", "on", "off"}

func (m *searchMode) Type() string   { return "MODE" }
func (m *searchMode) String() string { return string(*m) }

func (m *searchMode) Set(text string) error {
	if !slices.Contains(searchModes, text) {
		return fmt.Errorf("expected one of %s", strings.Join(searchModes, ", "))
	}
	*m = searchMode(text)
	return nil
}

// serveListening serves the clients that come to addresses until it is interrupted, with metrics if they
// are wanted.
func (a *app) serveListening(ctx context.Context, servers []host.Server, c gateway.Config, at addresses, metrics bool) error {
	var e entrance
	s, err := a.load()
	if err != nil {
		return err
	}
	if at.http != "" {
		if e, err = a.enter(at.http, s, &c); err != nil {
			return err
		}
		defer e.close()
	}
	var g *gateway.Gateway // before a request can come
	var options []func(*host.Config)
	if metrics {
		m := telemetry.NewMetrics(func() gateway.Metrics { return g.Metrics() })
		c.Metrics, options = m.Handler(), append(options, countIn(m))
	}
	return a.serveByRules(ctx, servers, c, func(opened *gateway.Gateway, served []host.Server) error {
		g = opened
		l, err := at.listen(ctx, e.address)
		if err != nil {
			return err
		}
		defer l.Close()
		if err := a.tellServed(l, e, served); err != nil {
			return err
		}
		a.endless = true
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		var running sync.WaitGroup
		serving, stop := context.WithCancelCause(context.WithoutCancel(ctx))
		running.Go(func() {
			<-ctx.Done()
			a.finish(g)
			stop(context.Cause(ctx))
		})
		if l.HTTP != nil {
			running.Go(func() { end(listener.Serve(serving, l.HTTP, e.tls, g.Handler(), func() { g.Close() })) })
		}
		if l.Socket != nil {
			running.Go(func() {
				end(listener.Clients(serving, l.Socket, maxClients, noPlace, func(ctx context.Context, client io.ReadWriteCloser) {
					if err := g.ServeConn(ctx, client); err != nil && ctx.Err() == nil {
						a.Warn("the connection of a client broke: %v", err)
					}
				}))
			})
		}
		running.Wait()
		a.tellMetrics(g.Metrics())
		return context.Cause(ctx)
	}, options...)
}

// finishTime is how long calls that are under way may still take once the program is to end.
const finishTime = 3 * time.Second

// finish waits until the calls under way at a gateway have their answers, but no longer than finishTime, or
// until a second interrupt. The gateway takes no more.
func (a *app) finish(g *gateway.Gateway) {
	ctx, cancel := context.WithTimeout(a.hurried(), finishTime)
	defer cancel()
	g.Finish(ctx)
}

// listen listens at the addresses, for HTTP at the address of the entrance. The caller closes the
// listeners.
func (at addresses) listen(ctx context.Context, entrance string) (l listener.Set, err error) {
	if at.http != "" {
		if l.HTTP, err = listener.HTTP(ctx, entrance); err != nil {
			return l, exit.Usage(fmt.Errorf("--http %s: %w", at.http, err), "ADDRESS is a port that is free, such as 7777, or 127.0.0.1:7777")
		}
	}
	if at.socket == "" {
		return l, nil
	}
	path := at.socket
	if path == ownSocket {
		path, err = socketPath()
	}
	if err == nil {
		l.Socket, err = localsocket.Listen(path)
	}
	if err != nil {
		l.Close()
		hint := ""
		if errors.Is(err, localsocket.ErrServed) {
			hint = "end that program, or name another path"
		}
		return l, exit.Usage(fmt.Errorf("--unix: %w", err), "%s", hint)
	}
	return l, nil
}

// tellMetrics prints the counts of a gateway that has ended, if a person reads stderr.
func (a *app) tellMetrics(m gateway.Metrics) {
	if !a.forPeople() || a.Quiet {
		return
	}
	a.Tell(term.Dim, "Served:", fmt.Sprintf("%s of %s, %d of them failed or were not valid; servers were connected %s, and stopped %s as they were not used",
		counted(m.Requests, "request"), counted(m.LegacyClients+m.ModernClients, "client"), m.Failed+m.Invalid,
		counted(m.Connections.Connected, "time"), counted(m.Connections.Stopped, "time")), "")
}

// served is how the JSON output shows a server that clients reach. Without a name it is all servers
// as one.
type served struct {
	Name   string `json:"name,omitempty"`
	URL    string `json:"url,omitempty"`
	Token  string `json:"token_file,omitempty"`
	Socket string `json:"socket,omitempty"`
}

// tellServed prints the address of each server that clients can reach.
func (a *app) tellServed(l listener.Set, e entrance, servers []host.Server) error {
	const all = "(all as one)"
	var list []served
	rows := plain.Table{{"NAME", "ADDRESS"}}
	if l.HTTP != nil {
		for _, at := range e.urls(l.HTTP.Addr().String()) {
			list, rows = append(list, served{URL: at.String(), Token: e.token}), append(rows, []string{all, at.String()})
			for _, server := range servers {
				at := at.JoinPath(server.Name).String()
				list = append(list, served{Name: server.Name, URL: at, Token: e.token})
				rows = append(rows, []string{plain.Name(server.Name, plain.NameColumns), at})
			}
		}
	}
	if l.Socket != nil {
		path := l.Socket.Addr().String()
		list, rows = append(list, served{Socket: path}), append(rows, []string{all, plain.Line(path)})
	}
	if e.token != "" && a.forPeople() && !a.Quiet {
		whose := ""
		if e.authority != "" {
			whose = ", from clients of your own; others are whom their certificate names"
		}
		a.Tell(term.Dim, "Header:", "Authorization: Bearer, with the token in "+e.token+whose, "")
	}
	if e.authority != "" && a.forPeople() && !a.Quiet {
		a.Tell(term.Dim, "Certificate:", "each client needs one that is signed by "+e.authority, "")
	}
	return a.printList(list, rows)
}
