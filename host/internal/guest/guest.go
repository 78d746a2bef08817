// Package guest drives one transport plugin by the ABI of package abi: it
// carries events in, answers host calls, and makes sure that whatever the
// guest does, only its own connection ends.
//
// # Who runs the guest
//
// An instance has one owner at a time. A goroutine that brings an event and finds the
// guest free becomes its owner, runs the event, runs whatever others left in
// the mailbox meanwhile, flushes what the guest wrote, and lets go. So in the
// common case a caller's message goes from its own goroutine through the guest
// into the kernel without a hand-over, and under load the messages of many
// callers leave in one system call.
//
// # What waits for what
//
// The mailbox has two lanes. Outgoing messages wait in one of them, bounded by
// bytes, until the guest reported that it is up and the server takes what was
// written before. Everything else (replies, cancellations, timers, what comes
// from handles) travels in the other and is never held back, so an instance
// cannot wait on its own mailbox. A handle has one chunk under way: its reader
// waits until the guest has looked at it, which is all the backpressure there
// is. Nothing above Deliver waits.
//
// A caller that waits for an answer may run the exchange that brings it ([hostio.InlineIO]), and
// then brings the HEAD itself. Nothing else holds such a caller up: a guest that is
// busy finds a last HEAD in the mailbox, and an owner goes on in another goroutine
// after a turn.
package guest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// New instantiates the guest and asks it to describe itself. It returns
// early when ctx is done. The caller owns the instance and calls Close.
func New(ctx context.Context, c Config) (*Instance, error) {
	c.Limits = c.Limits.withDefaults()
	i := &Instance{
		config: c, done: make(chan struct{}),
		fuel: fuelBucket{rate: c.Limits.FuelRate, level: c.Limits.FuelRate},
	}
	switch err := c.startExecutor(ctx, i); {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, wasm.ErrClosed), errors.Is(err, context.Canceled):
		return nil, fmt.Errorf("start plugin %s: %w", i.config.Plugin, err) // no fault of the plugin
	default:
		return nil, i.pluginError("start", err)
	}
	if err := i.describe(); err != nil {
		i.executor.Close()
		return nil, err
	}
	return i, nil
}

// guestEnv keeps the heap of a Go guest small; others ignore it.
var guestEnv = []string{"GOGC=25"}

// Manifest returns what the guest said of itself.
func (i *Instance) Manifest() abi.Manifest { return i.manifest }

// Open starts the connection: the guest is told its settings and may from now
// on reach the host. It does not wait: the receiver is told when the connection is
// up, and when it ends. saved is a state that an earlier instance saved, or nil.
func (i *Instance) Open(s *abi.Settings, saved []byte, h hostio.Host, r Receiver) {
	i.host, i.receiver = h, r
	i.timers = h.Timers(i.fire)
	i.mu.Lock()
	i.begun = true
	i.mu.Unlock()
	i.post(item{kind: abi.EventOpen, payload: abi.AppendSettings(nil, s)})
	if saved != nil {
		i.post(item{kind: abi.EventResume, payload: saved})
	}
}

// Close ends the connection: the guest hears CLOSE and has a grace to finish, then its
// handles are closed and it is gone. Close returns after that, or when ctx is done, which
// cuts the grace short. It may be called more than once, from any goroutine but the owner's.
func (i *Instance) Close(ctx context.Context) error {
	if i.host == nil {
		i.Leave()
		return nil
	}
	i.SendClose()
	grace := time.NewTimer(i.config.Limits.CloseGrace)
	defer grace.Stop()
	select {
	case <-i.done:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	i.Leave()
	return nil
}

// Leave ends the connection without a CLOSE event, so that the guest sends nothing to its
// server: another instance goes on from the state that it saved. Leave returns when the guest
// is gone. It may be called as Close may.
func (i *Instance) Leave() {
	i.stop()
	<-i.done
}

// Done is closed when the guest is gone.
func (i *Instance) Done() <-chan struct{} { return i.done }

// startExecutor starts what the guest runs on.
func (c *Config) startExecutor(ctx context.Context, i *Instance) error {
	if c.Remote != nil {
		b := Callbacks{
			MemoryPages: c.Limits.MemoryPages, Stderr: &i.stderr, Now: c.Now, Random: c.Random,
			Answer: i.answer, Lost: i.lostRemote,
		}
		if i.config.Trace != nil || i.config.Observer != nil {
			b.Observed = i.observeCall
		}
		m, err := c.Remote.Start(ctx, b)
		i.executor, i.caller = m, m
		return err
	}
	mod, err := c.Module.Instantiate(ctx, wasm.InstanceConfig{
		Env: guestEnv, Stderr: &i.stderr, MemoryPages: c.Limits.MemoryPages, Owner: i, Now: c.Now, Random: c.Random,
	})
	if err != nil {
		return err
	}
	i.executor, i.caller = &local{mod, mod.Export(abi.ExportEvent)}, mod
	return nil
}

// answer is the host side of the call of a guest that runs elsewhere.
func (i *Instance) answer(m Executor, c abi.Call, passed []uint32) int32 {
	i.caller = m // which is needed before New has it
	var a args
	copy(a[:], passed)
	result := calls[c].run(i, a)
	i.observeCall(c, passed, result)
	return result
}

// lostRemote ends the guest because its process is gone. A guest that has no connection
// yet finds out at its next event, which has a caller to tell.
func (i *Instance) lostRemote(err error) {
	i.mu.Lock()
	i.lostCause = i.crashed("run", err)
	begun := i.begun
	i.mu.Unlock()
	if begun {
		i.stop()
	}
}

// fire is what a timer does when it runs out.
func (i *Instance) fire(id uint32) { i.post(item{kind: abi.EventTimer, handle: id}) }

// Environ is the environment of every guest.
func Environ() []string { return slices.Clone(guestEnv) }
