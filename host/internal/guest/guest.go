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
	"io"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Receiver hears what the guest has to say to the layer above. The instance
// calls it from its owner's goroutine; no method may block or call back into
// the instance on that goroutine. Close is the last call and the only one
// that may come before Open.
type Receiver interface {
	// Deliver takes one inbound message. msg is valid during the call only,
	// unless owned says that the receiver may keep it.
	Deliver(exchange uint32, msg []byte, owned bool) abi.Verdict

	// TooBig says that a message over the cap was dropped; head is how it
	// began, valid during the call.
	TooBig(exchange uint32, head []byte)

	// Done says that nothing more comes for the exchange.
	Done(exchange uint32)

	// Failed says that the exchange ended in a failure.
	Failed(exchange uint32, err error)

	// Expired says that the server has forgotten the session that the
	// exchange belonged to. Whether a newer one exists, the receiver knows.
	Expired(exchange uint32)

	// OfferInline offers I/O of the exchange to the caller that waits for its answer,
	// and reports whether there is one, who then runs it.
	OfferInline(exchange uint32, x hostio.InlineIO) (taken bool)

	// Close says that the connection ended, and why.
	Close(err error)
}

// Message is one outgoing message. The instance owns it from Send until it
// calls Free, which it does exactly once, and a stream that borrows from it once
// for each Hold.
type Message interface {
	Exchange() uint32

	// Payload returns the facts block and, from start on, the message itself.
	Payload() (payload []byte, start int)

	// Urgent messages (replies) are not held back behind others.
	Urgent() bool

	// Prompted messages were asked for by what the guest delivered: replies, the next
	// page of a list. They earn fuel only as far as bytes from outside have paid.
	Prompted() bool

	Hold()
	Free()
}

// Limits are the bounds of one connection. Zero fields take the defaults.
type Limits struct {
	MessageCap  int           // bytes of one inbound message; 16 MiB
	Mailbox     int           // bytes of outgoing messages that may wait; 32 MiB
	HighWater   int           // unsent bytes of a handle that hold messages back; 256 KiB
	Quota       int           // bytes of messages under way, see Instance.space; 9/8 of MessageCap
	MemoryPages uint32        // 64 KiB each; 256
	CloseGrace  time.Duration // between CLOSE and the end; 2 s
	FuelRate    int64         // units per second beside what events earn, see fuel.go; 40 million
}

func (l Limits) withDefaults() Limits {
	orInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	orInt(&l.MessageCap, 16<<20)
	orInt(&l.Mailbox, 32<<20)
	orInt(&l.HighWater, 256<<10)
	orInt(&l.Quota, l.MessageCap+l.MessageCap/8)
	if l.MemoryPages == 0 {
		l.MemoryPages = 256
	}
	if l.CloseGrace <= 0 {
		l.CloseGrace = 2 * time.Second
	}
	if l.FuelRate <= 0 {
		l.FuelRate = 4 * wasm.EventBudget
	}
	return l
}

// Held is the most that an instance holds for its guest, in bytes: the memory of the
// guest, and the messages under way. A queue that grows has up to a quarter of it
// free. What was delivered is the receiver's, and what a caller sent is the caller's:
// neither is counted.
func (l Limits) Held() int {
	l = l.withDefaults()
	const (
		parts   = maxPartials * 256 // beside the bytes of each
		handles = abi.MaxHandles * 512
		timers  = abi.MaxTimers * 512
	)
	return int(l.MemoryPages)<<16 + l.Quota + l.Quota/4 + spareSize + keepStash + parts + handles + timers + abi.MaxSavedState
}

// Config says which guest to run and for whom.
type Config struct {
	Plugin   string // the plugin's name, for errors
	Module   *wasm.Module
	Remote   Program // runs elsewhere, in place of Module; nil = here
	Limits   Limits
	Trace    Tracer                  // nil = off
	Observer Observer                // nil = none
	Log      func(abi.Level, string) // what the guest logs; nil = dropped
	Save     func(state []byte)      // what the guest saves, valid during the call; nil = dropped

	// SingleThreaded says that one goroutine does everything with the instance: each call
	// returns when the guest has done all it can, and it is never put to rest. With
	// Now and Random, which are as in [wasm.InstanceConfig], what a guest does is
	// then the same each time.
	SingleThreaded bool
	Now            func() time.Time
	Random         io.Reader
}

// New instantiates the guest and asks it to describe itself. It returns
// early when ctx is done. The caller owns the instance and calls Close.
func New(ctx context.Context, c Config) (*Instance, error) {
	c.Limits = c.Limits.withDefaults()
	i := newInstance(c)
	if err := c.machine(ctx, i); err != nil {
		return nil, i.startError(ctx, err)
	}
	if err := i.describe(); err != nil {
		i.machine.Close()
		return nil, err
	}
	return i, nil
}

// guestEnv keeps the heap of a Go guest small; others ignore it.
var guestEnv = []string{"GOGC=25"}

// Manifest returns what the guest said of itself.
func (i *Instance) Manifest() abi.Manifest { return i.manifest }

// Open starts the connection: the guest is told its settings and may from now
// on reach the host. It does not wait; what becomes of the connection, the
// receiver hears. saved is a state that an earlier instance saved, or nil.
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

// Send hands m to the guest and takes it over. It waits only while the
// mailbox is full, until ctx is done. An error means that the message was
// certainly not sent.
func (i *Instance) Send(ctx context.Context, m Message) error {
	payload, start := m.Payload()
	it := item{kind: abi.EventMessage, handle: uint32(start), arg: m.Exchange(), payload: payload, msg: m}
	if m.Urgent() {
		return i.post(it)
	}
	return i.send(ctx, it)
}

// Cancel tells the guest that the caller of the exchange no longer waits. It
// reports whether its message was still in the mailbox: then it is gone, the
// server will never see it, and nothing needs to be said.
func (i *Instance) Cancel(exchange uint32) (unsent bool) {
	if m := i.withdraw(exchange); m != nil {
		m.Free()
		return true
	}
	i.post(item{kind: abi.EventCancel, arg: exchange})
	return false
}

// Close ends the connection: the guest hears CLOSE and has a grace to finish,
// then its handles are closed and it is gone. Close returns when that is so,
// or when ctx is done, which cuts the grace short. It may be called more than
// once, from any goroutine but the owner's.
func (i *Instance) Close(ctx context.Context) error {
	if i.host == nil {
		i.stop()
		<-i.done
		return nil
	}
	i.SendClose()
	grace := time.NewTimer(i.limits.CloseGrace)
	defer grace.Stop()
	select {
	case <-i.done:
		return nil
	case <-grace.C:
	case <-ctx.Done():
	}
	i.stop()
	<-i.done
	return nil
}

// Leave ends the connection without a CLOSE event, so that the guest sends nothing to
// its server: another instance goes on from what it saved. Leave returns when the guest is
// gone. It may be called as Close may.
func (i *Instance) Leave() {
	i.stop()
	<-i.done
}

// Done is closed when the guest is gone.
func (i *Instance) Done() <-chan struct{} { return i.done }
