package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/status"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/control"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/signin"
)

// serveStarter serves the client on stdin and stdout, which reaches servers, until the client ends
// its side or the program that started this one ends. It follows the rules of the configuration, unless the
// daemon does that.
func (a *app) serveStarter(ctx context.Context, servers []host.Server, c gateway.Config) error {
	ctx, end := untilOrphaned(ctx)
	defer end()
	serve := func(g *gateway.Gateway, _ []host.Server) error {
		stream, err := standardStream()
		if err != nil {
			return err
		}
		a.endless = true
		return g.ServeConn(ctx, stream)
	}
	if a.streams != nil {
		return a.serveClients(ctx, servers, c, serve)
	}
	return a.serveByRules(ctx, servers, c, serve)
}

// serveByRules is serveClients with a gateway that follows the rules of the configuration until serve returns.
func (a *app) serveByRules(ctx context.Context, servers []host.Server, c gateway.Config, serve func(*gateway.Gateway, []host.Server) error, options ...func(*host.Config)) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	rules, err := newLiveRules(s)
	if err != nil {
		return err
	}
	return a.serveClients(ctx, servers, c, func(g *gateway.Gateway, served []host.Server) error {
		following, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { a.followRules(following, rules, g) })
		defer running.Wait()
		defer stop()
		return serve(g, served)
	}, append(options, rules.decide)...)
}

// checkServing refuses flags that say what servers learn from the person at a command: a client has folders and a
// model of its own. It refuses --alone beside --shared too.
func checkServing(cmd *cobra.Command) error {
	for _, flag := range [][2]string{{"root", "folders"}, {"sampler", "a model"}, {"respondent", "a person"}} {
		if cmd.Flags().Changed(flag[0]) {
			return exit.Usage(fmt.Errorf("--%s does nothing with %s: its client has %s of its own", flag[0], cmd.Name(), flag[1]), "leave it out")
		}
	}
	return exclusive(cmd, "shared", "alone")
}

// untilOrphaned returns a context that ends when the program that started this one has ended.
func untilOrphaned(ctx context.Context) (until context.Context, end context.CancelFunc) {
	ctx, end = context.WithCancel(ctx)
	go func() {
		awaitOrphaned(ctx)
		end()
	}()
	return ctx, end
}

// servingHost returns the host of a command that serves other programs, which the caller closes. What
// servers write to their stderr goes to stderr as it comes: editors keep that as a log.
func (a *app) servingHost(ctx context.Context, options ...func(*host.Config)) (*host.Host, error) {
	log := a.NewHeldLog()
	log.Release()
	if a.Quiet {
		log.Hush()
	}
	a.follows = true
	return a.newHost(ctx, log, append([]func(*host.Config){func(c *host.Config) { c.OneShot, c.StopIdle = false, true }}, options...)...)
}

// openControl returns a control of the servers of the configuration, and its host. The caller closes both.
// Editors that share servers get none of a project. Without a folder for the configuration and the plugins,
// editors change nothing. gateways are those of the program, or nil.
func (a *app) openControl(ctx context.Context, shared bool, gateways *control.Gateways) (*control.Control, *host.Host, error) {
	if _, err := a.load(); err != nil {
		return nil, nil, err
	}
	from := &editorSource{app: a.inFolder(a.folder), shared: shared, first: a.settings}
	from.app.settings = a.settings
	now, err := from.read()
	if err != nil {
		return nil, nil, err
	}
	config := control.Config{Wharf: control.Program{Name: "wharf", Version: release.Version()}, Gateways: gateways}
	config.Source, _ = from.source()
	c := control.New(config)
	h, err := a.servingHost(ctx, func(hc *host.Config) {
		hc.Person = &signin.Person{OpenURL: a.openUnasked, ShowCode: a.showUnasked}
		from.rules.decide(hc)
		c.Install(hc)
	})
	if err == nil {
		if err = c.Open(h, *now); err == nil {
			return c, h, nil
		}
		h.Close()
	}
	return nil, nil, err
}

// serveClients makes a gateway to servers, and calls serve with it and the servers that it has. It
// leaves out a server that the user has not approved, with a warning. The server of a bare gateway
// must be approved.
func (a *app) serveClients(ctx context.Context, servers []host.Server, c gateway.Config, serve func(*gateway.Gateway, []host.Server) error, options ...func(*host.Config)) error {
	h, err := a.servingHost(ctx, append(options, func(hc *host.Config) {
		hc.Person = gateway.Person(&signin.Person{OpenURL: a.openUnasked, ShowCode: a.showUnasked})
		hc.Confirm = gateway.Confirm
	})...)
	if err != nil {
		return err
	}
	defer h.Close()
	s, err := a.load()
	if err != nil {
		return err
	}
	lacking := make(map[string]string)
	for _, server := range servers {
		if s.servesItself(server) && !c.Bare {
			a.Warn("%s is not served: it starts wharf, which has it as a server", plain.Name(server.Name, plain.NameColumns))
			continue
		}
		err := h.Approve(ctx, server)
		broken := err
		if err == nil {
			_, broken = server.Expand(os.LookupEnv)
		}
		if broken != nil {
			lacking[server.Name] = a.redacted(broken.Error())
		}
		switch {
		case err != nil && c.Bare:
			return err
		case err != nil:
			a.Warn("%s is not served: %v", plain.Name(server.Name, plain.NameColumns), err)
		default:
			c.Servers = append(c.Servers, a.flags.withTimeout(server))
		}
	}
	if !c.Bare {
		for name, broken := range s.leftOut {
			if name != demoName { // of which the program has one
				lacking[name] = a.redacted(broken.Error())
			}
		}
	}
	c.Info = ownInfo()
	c.Hint = func(hint string) string { return a.withConfig(a.withAddress(hint)) }
	g, err := gateway.New(h, c)
	if err != nil {
		return err
	}
	defer g.Close()
	for name, why := range lacking {
		g.Lack(name, why)
	}
	if !c.Bare { // a list of all servers does not say that the tools of one are missing
		var told sync.WaitGroup
		news := h.Watch()
		told.Go(func() {
			status.Trouble(ctx, news, func(server, text string) {
				text = a.redacted(text)
				if g.Lack(server, text); text != "" {
					a.Warn("%s: %s", plain.Line(server), text)
				}
			})
		})
		defer told.Wait()
		defer news.Close()
	}
	return serve(g, c.Servers)
}

// openUnasked opens the page of a sign-in in the browser, where the client cannot show it: there is
// a person behind an editor, and no terminal. The host opens one page at a time, and none again
// after one that the person has left alone.
func (a *app) openUnasked(ctx context.Context, p signin.Page) error {
	err := errors.New("no browser is to be opened")
	if a.flags.opensBrowser(true) {
		err = host.OpenBrowser(ctx, p.URL)
	}
	if err != nil { // the address is of no use then, because the page's answer is not waited for
		return fmt.Errorf("%s wants a sign-in, and its page cannot be shown (%w)", plain.Line(p.Server), err)
	}
	fmt.Fprintf(a.Err, "%s  %s\n", a.Own("To sign in to %s, visit", plain.Name(p.Server, plain.NameColumns)), cleantext.Text(p.URL))
	return nil
}

// showUnasked shows a code to a person who reads stderr at a terminal, or else opens the page that has the code
// in it, as openUnasked does.
func (a *app) showUnasked(ctx context.Context, c signin.Code) error {
	var err error
	switch {
	case a.ErrTTY:
	case c.Complete == "":
		err = errors.New("there is no terminal")
	case !a.flags.opensBrowser(true):
		err = errors.New("no browser is to be opened")
	default:
		err = host.OpenBrowser(ctx, c.Complete)
	}
	if err != nil {
		return fmt.Errorf("%s wants a sign-in, and its code cannot be shown (%w)", plain.Line(c.Server), err)
	}
	return a.showCode(ctx, c)
}
