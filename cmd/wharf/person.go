package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
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
// address that it ends at can be pasted here.
func (a *app) openPage(ctx context.Context, p host.Page) error {
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return err
	}
	defer leave()
	fmt.Fprintf(a.err, "To sign in to %s, visit\n  %s\n", plain(p.Server), plain(p.URL))
	if a.flags.opensBrowser(a.errTTY) {
		err := host.OpenBrowser(ctx, p.URL)
		if err == nil {
			fmt.Fprintln(a.err, "It opens in your browser; this goes on when you are done there.")
			return nil
		}
		fmt.Fprintln(a.err, plain(err.Error()))
	}
	fmt.Fprintln(a.err, "If your browser is on another machine, paste here the address that it ends at:")
	return a.takeAddress(ctx, p)
}

// takeAddress reads addresses until one is right. Without any more input it
// leaves the page to the browser.
func (a *app) takeAddress(ctx context.Context, p host.Page) error {
	for {
		address, err := a.keys().ask(ctx, "", "", false)
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
		fmt.Fprintln(a.err, plain(wrong.Error()))
	}
}

// prompt asks for a text.
func (a *app) prompt(ctx context.Context, q host.Question) (string, error) {
	ctx, leave, err := a.floor(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	if q.Hint != "" {
		fmt.Fprintln(a.err, plain(q.Hint))
	}
	label := line(q.Label) + ": "
	if !a.inTTY && q.Label != "" { // nobody types there, so nothing else shows it, or ends its line
		fmt.Fprintln(a.err, strings.TrimRight(label, " "))
	}
	text, err := a.keys().ask(ctx, label, "", q.Secret)
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

// showCode shows a code and where to type it.
func (a *app) showCode(_ context.Context, c host.Code) {
	defer a.still()()
	fmt.Fprintf(a.err, "To sign in to %s, visit\n  %s\nand type the code\n  %s\n",
		plain(c.Server), plain(c.URL), a.styled(a.errTTY, styleBold, plain(c.Code)))
	if c.Complete != "" {
		fmt.Fprintf(a.err, "or visit\n  %s\n", plain(c.Complete))
	}
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
		k.in, k.mode, k.screen, k.blind, k.interrupt = a.in, a.mode, screen, !ok, a.interrupt.raise
	}
	return k
}
