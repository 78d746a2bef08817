// Package guest drives one transport plugin by the ABI of package abi. It passes events to the
// guest and answers its host calls. Whatever the guest does, only its own connection can end.
//
// # Who runs the guest
//
// An instance has at most one owner at a time. A goroutine with an event that finds the guest free
// becomes its owner. It runs the event and the events that others have put into the mailbox
// meanwhile, flushes what the guest wrote, and stops being the owner. So a message usually goes on
// its caller's goroutine through the guest into the kernel. Under load, one system call sends the
// messages of many callers.
//
// # What waits for what
//
// The mailbox has two lanes. Outgoing messages wait in the normal lane, bounded by bytes, until the
// guest has reported that it is up and the server takes what was written before. All other events
// (replies, cancellations, timers, events of handles) use the urgent lane and are never held back,
// so an instance cannot wait for its own mailbox. A handle has one chunk in transit: its reader
// waits until the guest has handled it. There is no other backpressure. Nothing above Deliver
// waits.
//
// A caller that waits for an answer may run the exchange that brings it ([hostio.InlineIO]), and
// then posts the HEAD itself. Nothing else holds such a caller up: if the guest is busy, the last
// HEAD goes into the mailbox, and an owner continues on another goroutine after a turn.
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

// New instantiates the guest and reads its manifest. It returns early when ctx is done. The caller
// owns the instance and must call Close.
func New(ctx context.Context, c Config) (*Instance, error) {
	c.Limits = c.Limits.withDefaults()
	i := &Instance{
		config: c, done: make(chan struct{}),
		fuel: fuelBucket{rate: c.Limits.FuelRate, level: c.Limits.FuelRate},
	}
	switch err := c.startExecutor(ctx, i); {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, wasm.ErrClosed), errors.Is(err, context.Canceled):
		return nil, fmt.Errorf("start plugin %s: %w", i.config.Plugin, err) // the plugin is not at fault
	default:
		return nil, i.pluginError("start", err)
	}
	if err := i.describe(); err != nil {
		i.executor.Close()
		return nil, err
	}
	return i, nil
}

// guestEnv keeps the heap of a Go guest small. Other guests ignore it.
var guestEnv = []string{"GOGC=25"}

// Manifest returns what the guest has declared about itself.
func (i *Instance) Manifest() abi.Manifest { return i.manifest }

// Open starts the connection. It gives the guest its settings, and from now on the guest may reach
// the host. saved is a state that an earlier instance saved, or nil. Open does not wait: the
// receiver learns when the connection is up, and when it ends.
func (i *Instance) Open(s *abi.Settings, saved []byte, h hostio.Host, r Receiver) {
	i.host, i.receiver = h, r
	i.timers = h.Timers(i.fire)
	i.mu.Lock()
	i.begun = true
	i.mu.Unlock()
	i.post(&item{kind: abi.EventOpen, payload: abi.AppendSettings(nil, s)})
	if saved != nil {
		i.post(&item{kind: abi.EventResume, payload: saved})
	}
}

// Close ends the connection. The guest gets CLOSE and a grace to finish; then its handles are
// closed and it ends. Close returns after that, or when ctx is done, which ends the grace. It may
// be called more than once, from any goroutine except the owner's.
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

// Leave ends the connection without a CLOSE event, so that the guest sends nothing to its server:
// another instance goes on from the saved state. Leave returns when the guest has ended. It may be
// called under the same conditions as Close.
func (i *Instance) Leave() {
	i.stop()
	<-i.done
}

// Done is closed when the guest has ended.
func (i *Instance) Done() <-chan struct{} { return i.done }

// startExecutor starts the executor of the guest.
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

// answer answers the host call of a guest that runs elsewhere.
func (i *Instance) answer(m Executor, c abi.Call, passed []uint32) int32 {
	i.caller = m // New sets it only later
	var a args
	copy(a[:], passed)
	result := calls[c].run(i, a)
	i.observeCall(c, passed, result)
	return result
}

// lostRemote ends the guest because its process has ended. A guest without a connection learns that
// at its next event, whose caller gets the error.
func (i *Instance) lostRemote(err error) {
	i.mu.Lock()
	i.lostCause = i.crashed("run", err)
	begun := i.begun
	i.mu.Unlock()
	if begun {
		i.stop()
	}
}

// fire posts the event of a timer.
func (i *Instance) fire(id uint32) { i.post(&item{kind: abi.EventTimer, handle: id}) }

// Environ returns the environment of every guest.
func Environ() []string { return slices.Clone(guestEnv) }
