package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

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
	defer a.still()()
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
		address, err := a.readLine(ctx)
		switch {
		case errors.Is(err, io.EOF) && address == "":
			return nil
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
	defer a.still()()
	if q.Hint != "" {
		fmt.Fprintln(a.err, plain(q.Hint))
	}
	end := " "
	if !a.inTTY { // nobody types there, so nothing else ends the line
		end = "\n"
	}
	fmt.Fprint(a.err, plain(q.Label), ":", end)
	text, err := a.readAnswer(ctx, q.Secret)
	if errors.Is(err, io.EOF) {
		err = nil // the last line need not have an end
	}
	if text == "" && err == nil {
		return "", host.ErrDeclined
	}
	return text, err
}

// readAnswer reads a line, unseen if it is secret and typed.
func (a *app) readAnswer(ctx context.Context, secret bool) (string, error) {
	if !secret || !a.inTTY {
		return a.readLine(ctx)
	}
	return within(ctx, func() (string, error) {
		text, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(a.err)
		return strings.TrimSpace(string(text)), err
	})
}

// readLine reads a line of stdin. What comes with io.EOF is the last one.
func (a *app) readLine(ctx context.Context) (string, error) {
	if a.lines == nil {
		a.lines = bufio.NewReader(io.LimitReader(a.in, maxTyped))
	}
	return within(ctx, func() (string, error) {
		text, err := a.lines.ReadString('\n')
		return strings.TrimRight(text, "\r\n"), err
	})
}

// maxTyped is how much of stdin is read for answers, in bytes.
const maxTyped = 1 << 20

// within waits for a read, or until ctx is done. A read that is stuck then stays
// behind; the program is about to leave.
func within(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
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

// still keeps the moving line away while a person reads or types. The caller
// calls the function that it returns when they are done.
func (a *app) still() (done func()) {
	if c, ok := a.err.(*console); ok {
		return c.hold()
	}
	return func() {}
}
