package restarttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// A Trial is a transport with the counterpart that it speaks to.
type Trial struct {
	Config host.Config // with the plugin; Reconnect is the trial's own
	Entry  host.Server

	// Start makes the counterpart and the server reachable, and returns when they are. After a
	// Kill, the counterpart must come back at its old address.
	Start func(t *testing.T)

	// Kill ends the counterpart without a word, and returns when it is gone. The counterpart may
	// be gone already, as it is when a trial ends.
	Kill func(t *testing.T)

	// ComesBack says that the counterpart comes back by itself, such as a server that is started
	// for each connection. Start is then called once, Kill only while there is a connection, and
	// the trial tries nothing without the counterpart.
	ComesBack bool

	Longest int // bytes of the longest text that is echoed; 0 = 1 MiB
}

// Run runs the trial, each part of it as a subtest with a host of its own.
func Run(t *testing.T, trial Trial) {
	t.Run("calls", trial.calls)
	t.Run("killed between calls", trial.killedBetweenCalls)
	t.Run("killed in a call", trial.killedInACall)
	if !trial.ComesBack {
		t.Run("absent at first", trial.absentAtFirst)
	}
}

// session adds a server to a new host, which retries soon after a failure and connects at
// once when the server is called.
func (trial *Trial) session(t *testing.T) *trialSession {
	t.Helper()
	const soon = 10 * time.Millisecond
	c := trial.Config
	c.Reconnect = config.Reconnect{Backoff: []time.Duration{}, Slow: soon, SlowMax: soon, Failures: -1}
	h, err := host.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	v := &trialSession{t: t, watch: h.Watch()}
	t.Cleanup(func() {
		v.watch.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	if v.session, err = h.Add(trial.Entry); err != nil {
		t.Fatal(err)
	}
	return v
}

// connectedSession is session, after a first call.
func (trial *Trial) connectedSession(t *testing.T) *trialSession {
	t.Helper()
	trial.Start(t)
	if !trial.ComesBack {
		t.Cleanup(func() { trial.Kill(t) })
	}
	begun, v := time.Now(), trial.session(t)
	v.echo("ahoy")
	v.logReady("it was ready", begun)
	return v
}

// reconnect starts the counterpart again and waits until the session is connected, later
// than last. If the counterpart comes back by itself, the host finds it by itself.
// Otherwise the host may have tried just before the counterpart was there, so it is asked
// at most twice.
func (trial *Trial) reconnect(v *trialSession, last time.Time) {
	v.t.Helper()
	begun := time.Now()
	defer func() { v.logReady("it was ready again", begun) }()
	if trial.ComesBack {
		v.until(func(n status.Update) bool { return n.State == status.Connected && n.Since.After(last) })
		return
	}
	trial.Start(v.t)
	if v.session.Ready(v.t.Context()) == nil {
		return
	}
	if err := v.session.Ready(v.t.Context()); err != nil {
		v.t.Errorf("it is back, and not reached: %v", err)
	}
}

// calls lists tools and calls them, many at a time and with long texts.
func (trial *Trial) calls(t *testing.T) {
	v := trial.connectedSession(t)
	tools, err := v.session.ListTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	has := make(map[string]bool)
	for _, tool := range tools {
		has[tool.Name] = true
	}
	if !has[echoTool] || !has[longTool] {
		t.Errorf("there are %v", has)
	}
	v.echo(strings.Repeat("Grüße, 世界 ", cmp.Or(trial.Longest, 1<<20)/len("Grüße, 世界 ")))
	var callers sync.WaitGroup
	for n := range 20 {
		callers.Go(func() { v.echo(fmt.Sprint("caller ", n)) })
	}
	callers.Wait()
	v.cancelCalls()
}

// killedBetweenCalls kills the counterpart while no call is under way. The host notices,
// reports it, and is connected again when the counterpart is back.
func (trial *Trial) killedBetweenCalls(t *testing.T) {
	v := trial.connectedSession(t)
	for range 3 {
		last := v.connected()
		trial.Kill(t)
		v.until(func(n status.Update) bool { return n.State != status.Connected || n.Since.After(last) })
		if !trial.ComesBack {
			v.unreachable()
		}
		trial.reconnect(v, last)
		v.echo("between")
	}
}

// killedInACall kills the counterpart while calls are under way. Each of them ends once,
// with an error which says that the call may have been sent.
func (trial *Trial) killedInACall(t *testing.T) {
	v := trial.connectedSession(t)
	for range 2 {
		last := v.connected()
		ended := v.longCalls(t.Context(), 5)
		trial.Kill(t)
		for range 5 {
			err := <-ended
			if !errors.Is(err, host.ErrUnreachable) || !host.MaybeSent(err) || errors.Is(err, host.ErrNotSent) {
				t.Errorf("a call under way ended with %v (%T); expected that it was lost, and may have been sent", err, err)
			}
		}
		trial.reconnect(v, last)
		v.echo("after")
	}
}

// absentAtFirst calls a server that is not there yet.
func (trial *Trial) absentAtFirst(t *testing.T) {
	v := trial.session(t)
	v.unreachable()
	v.unreachable()
	trial.reconnect(v, time.Time{})
	t.Cleanup(func() { trial.Kill(t) })
	v.echo("at last")
}

// trialSession is a session under test.
type trialSession struct {
	t       *testing.T
	session *host.Session
	watch   status.Watch
}

// echo makes a call that succeeds.
func (v *trialSession) echo(text string) {
	v.t.Helper()
	r, err := v.session.CallTool(v.t.Context(), echoTool, map[string]any{"message": text})
	switch {
	case err != nil:
		v.t.Errorf("the call ended with %v", err)
	case len(r.Content) == 0:
		v.t.Errorf("%d bytes were not echoed: the answer has no content", len(text))
	case r.Content[0].Text != "Echo: "+text:
		v.t.Errorf("a text was not echoed: %s", difference("Echo: "+text, r.Content[0].Text))
	}
}

// logReady logs how long something took: a trial that passes may still have waited for a
// minute, if the counterpart was reached before it was ready.
func (v *trialSession) logReady(what string, since time.Time) {
	v.t.Helper()
	v.t.Logf("%s after %v", what, time.Since(since).Round(time.Millisecond))
}

// unreachable makes a call that must fail without having been sent.
func (v *trialSession) unreachable() {
	v.t.Helper()
	_, err := v.session.CallTool(v.t.Context(), echoTool, map[string]any{"message": "anybody?"})
	if !errors.Is(err, host.ErrUnreachable) || host.MaybeSent(err) {
		v.t.Errorf("a call to an unreachable server ended with %v; expected ErrUnreachable, and that it was not sent", err)
	}
}

// longCalls makes calls that do not end by themselves, and returns when the server works on
// all of them. Their errors come on the channel.
func (v *trialSession) longCalls(ctx context.Context, calls int) <-chan error {
	v.t.Helper()
	ended, begun := make(chan error, calls), make(chan struct{}, calls)
	for range calls {
		once := sync.OnceFunc(func() { begun <- struct{}{} })
		ctx := host.WithOptions(ctx, host.RequestOptions{Progress: func(mcp.Progress) { once() }})
		go func() {
			_, err := v.session.CallTool(ctx, longTool, map[string]any{"duration": 3600, "steps": 36_000})
			ended <- err
		}()
	}
	for range calls {
		select {
		case <-begun:
		case err := <-ended:
			v.t.Fatalf("a call ended before the server said that it had begun: %v", err)
		}
	}
	return ended
}

// cancelCalls cancels calls under way, and checks that the connection survives.
func (v *trialSession) cancelCalls() {
	v.t.Helper()
	ctx, cancel := context.WithCancel(v.t.Context())
	ended := v.longCalls(ctx, 2)
	cancel()
	for range 2 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			v.t.Errorf("a call whose caller left ended with %v", err)
		}
	}
	v.echo("and the others?")
}

// connected waits until the session is connected, and returns since when it is.
func (v *trialSession) connected() time.Time {
	v.t.Helper()
	return v.until(func(n status.Update) bool { return n.State == status.Connected }).Since
}

// until waits for a notice that fulfils is. Only the newest notice is kept, so a short
// state may be missed.
func (v *trialSession) until(is func(status.Update) bool) status.Update {
	v.t.Helper()
	if s := (status.Update{Status: v.session.Status()}); is(s) {
		return s
	}
	for {
		n, err := v.watch.Next(v.t.Context())
		if err != nil {
			v.t.Fatal(err)
		}
		if n.ID == v.session.Status().ID && is(n) {
			return n
		}
	}
}
