package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// letSignIn gives a host the callbacks that let the person sign in.
func (a *app) letSignIn(c *host.Config) {
	c.OpenURL, c.Prompt, c.ShowCode = a.openPage, a.prompt, a.showCode
}

// canAsk reports whether there is a person who can sign in while a command
// waits: one at a terminal. Scripts and cron jobs are never held up by a page
// that nobody sees.
func (a *app) canAsk() bool { return a.errTTY && a.inTTY }

// openPage shows the address of a page and opens it in the browser. Where there
// is none, or it is not wanted, the browser may be on another machine: the
// address that it ends at can be pasted here. The host has looked at the address:
// there is no blank in it, so that no row of it can be taken for one of ours, and it
// stands there as it can be copied.
func (a *app) openPage(ctx context.Context, p host.Page) error {
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return err
	}
	defer leave()
	fmt.Fprintf(a.err, "%s  %s\n", a.ours("To sign in to %s, visit", plain.Name(p.Server, nameColumns)), plain.Text(p.URL))
	if a.flags.opensBrowser(a.errTTY) {
		err := host.OpenBrowser(ctx, p.URL)
		if err == nil {
			fmt.Fprintln(a.err, "It opens in your browser; this goes on when you are done there.")
			return nil
		}
		fmt.Fprint(a.err, a.ours("%s", cleantext.Visible(err.Error())))
	}
	return a.takeAddress(ctx, p)
}

// takeAddress reads addresses until one is right. Without any more input it
// leaves the page to the browser.
func (a *app) takeAddress(ctx context.Context, p host.Page) error {
	site, _ := siteOf(p.URL)
	q := question{above: a.ours("That is a page of %s, where the auth provider %s has you sign in to %s.", site, plain.Name(p.Provider, nameColumns), plain.Name(p.Server, nameColumns)) +
		a.ours("If your browser is on another machine, paste here the address that it ends at:")}
	for {
		address, err := a.ask(ctx, q)
		switch {
		case errors.Is(err, io.EOF) && address == "", errors.Is(err, errRefused):
			return nil
		case errors.Is(err, errEscaped):
			return host.ErrDeclined
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case strings.TrimSpace(address) == "":
			continue
		}
		wrong := p.Paste(address)
		if wrong == nil {
			return nil
		}
		fmt.Fprint(a.err, a.ours("%s", cleantext.Visible(wrong.Error())))
	}
}

// prompt asks for a text. What a provider says of it is a stranger's; who asks, and
// for which server, stands below that and is ours.
func (a *app) prompt(ctx context.Context, q host.Question) (string, error) {
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	text, err := a.ask(ctx, a.promptFor(q))
	if errors.Is(err, io.EOF) {
		err = nil // the last line need not have an end
	}
	if a.inTTY {
		text = strings.TrimSpace(text)
	}
	if errors.Is(err, errEscaped) || errors.Is(err, errRefused) || text == "" && err == nil {
		return "", host.ErrDeclined
	}
	return text, err
}

// promptFor shows what a provider says of a question, and returns the question. One
// without a provider is our own, and its label with it.
func (a *app) promptFor(q host.Question) question {
	if q.Provider == "" {
		return question{prompt: q.Label + ": ", secret: q.Secret}
	}
	for _, said := range []string{q.Hint, q.Label} {
		if said != "" {
			fmt.Fprint(a.err, a.quoted(said, ofMessage, ""))
		}
	}
	kind := "a text"
	if q.Secret {
		kind = "a secret, which is not shown as you type it"
	}
	provider := plain.Name(q.Provider, nameColumns)
	return question{
		above:  a.ours("The auth provider %s wants %s, to sign in to %s.", provider, kind, plain.Name(q.Server, nameColumns)),
		prompt: "Give it to " + plain.Name(q.Provider, nameColumns/2) + ": ", secret: q.Secret,
	}
}

// showCode shows a code and where to type it.
func (a *app) showCode(_ context.Context, c host.Code) {
	defer a.still()()
	fmt.Fprintf(a.err, "%s  %s\nand type the code\n  %s\n", a.ours("To sign in to %s, visit", plain.Name(c.Server, nameColumns)),
		plain.Text(c.URL), a.styled(a.errTTY, styleBold, plain.Name(c.Code, nameColumns)))
	if c.Complete != "" {
		fmt.Fprintf(a.err, "or visit\n  %s\n", plain.Text(c.Complete))
	}
	fmt.Fprint(a.err, a.ours("The auth provider %s asks for it.", plain.Name(c.Provider, nameColumns)))
}

// ask asks the person. The caller has the floor. What stands above the line is
// written first.
func (a *app) ask(ctx context.Context, q question) (string, error) {
	io.WriteString(a.err, q.above)
	return a.keys().ask(ctx, q)
}

// still keeps the moving line away while a person reads. The caller calls the
// function that it returns when they are done.
func (a *app) still() (done func()) {
	if c, ok := a.err.(*console); ok {
		return c.hold()
	}
	return func() {}
}

// person is whoever sits at the keyboard, and can be asked one thing at a time.
type person struct {
	once sync.Once
	turn chan struct{} // see taken
	keys keyboard
}

// taken returns what holds a token while somebody asks.
func (p *person) taken() chan struct{} {
	p.once.Do(func() { p.turn = make(chan struct{}, 1) })
	return p.turn
}

// floor gives the caller the person's attention: nobody else asks them anything,
// and nothing moves, until leave is called. It waits for that as long as ctx
// allows. The context it returns also ends when the program is interrupted.
func (a *app) floor(ctx context.Context) (within context.Context, leave func(), err error) {
	turn := a.person.taken()
	within, cancel := context.WithCancelCause(ctx)
	unhook := func() bool { return true }
	if a.life != nil {
		unhook = context.AfterFunc(a.life, func() { cancel(context.Cause(a.life)) })
	}
	select {
	case turn <- struct{}{}:
	case <-within.Done():
		unhook()
		defer cancel(nil)
		return nil, nil, context.Cause(within)
	}
	move := a.still()
	return within, func() {
		move()
		unhook()
		cancel(nil)
		<-turn
	}, nil
}

// endTalk waits until nobody asks the person anything, so that the last words of
// the program stand below the question and not beside it. Questions end with the
// command: their server is gone then, or the program was interrupted. One that
// does not is not waited for longer than a server that is told to stop.
func (a *app) endTalk() {
	turn := a.person.taken()
	select {
	case turn <- struct{}{}:
		<-turn
	case <-time.After(settleGrace):
	}
}

// keys returns the keyboard, for whoever has the floor.
func (a *app) keys() *keyboard {
	k := &a.person.keys
	if k.in == nil {
		screen, ok := a.err.(*console)
		if !ok {
			screen = &console{to: io.Discard}
		}
		k.in, k.mode, k.screen, k.blind, k.interrupt = a.in, a.mode, screen, !ok, a.interrupt.Raise
	}
	return k
}
