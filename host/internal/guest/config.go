package guest

import (
	"cmp"
	"io"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Receiver receives messages and events of the guest for the layer above. The instance calls it on
// its owner's goroutine. No method may block, or call the instance on that goroutine. Close is the
// last call, and the only one that may come before Open.
type Receiver interface {
	// Deliver takes one inbound message. msg is valid during the call only; if owned is true, the
	// receiver may keep it.
	Deliver(exchange uint32, msg []byte, owned bool) abi.Verdict

	// TooBig says that a message over the cap was dropped. head is its beginning and tail its end;
	// both are valid during the call only.
	TooBig(exchange uint32, head, tail []byte)

	// Done says that the exchange gets no more messages.
	Done(exchange uint32)

	// Failed says that the exchange ended in a failure.
	Failed(exchange uint32, err error)

	// Expired says that the server has forgotten the session of the exchange. The receiver knows
	// whether there is a newer session.
	Expired(exchange uint32)

	// OfferInline offers I/O of the exchange to the caller that waits for its answer. If it returns
	// true, that caller runs the I/O.
	OfferInline(exchange uint32, x hostio.InlineIO) (taken bool)

	// Close says that the connection has ended, and why.
	Close(err error)
}

// Message is one outgoing message. The instance owns it from Send until it calls Free, which it
// does exactly once. A stream that borrows from it calls Free once for each Hold.
type Message interface {
	Exchange() uint32

	// Payload returns the facts block and, from index start on, the message itself.
	Payload() (payload []byte, start int)

	// Urgent reports whether the message, a reply or a cancellation, goes ahead of the others.
	Urgent() bool

	// Solicited reports whether a delivered message asked for this one, as for a reply or for the
	// next page of a list. Such a message earns fuel only as far as bytes from outside have paid.
	Solicited() bool

	// Placed says that the message has its place: what is sent from then on comes behind it. It is
	// called before the message leaves, and not for one that is refused. It must not wait or call the
	// instance.
	Placed()

	Hold()
	Free()
}

// Limits are the bounds of one connection. A zero field has the default beside it.
type Limits struct {
	MessageCap  int           // bytes of one inbound message; 16 MiB
	Mailbox     int           // bytes of outgoing messages that may wait; 32 MiB
	HighWater   int           // unsent bytes of a handle above which messages wait; 256 KiB
	Quota       int           // bytes of messages in transit, see Instance.space; 9/8 of MessageCap
	MemoryPages uint32        // 64 KiB each; 256
	CloseGrace  time.Duration // between CLOSE and the end; 2 s
	FuelRate    int64         // units per second, in addition to what events earn, see fuel.go; 40 million
}

func (l Limits) withDefaults() Limits {
	messageCap := cmp.Or(l.MessageCap, 16<<20)
	return Limits{
		MessageCap:  messageCap,
		Mailbox:     cmp.Or(l.Mailbox, 32<<20),
		HighWater:   cmp.Or(l.HighWater, 256<<10),
		Quota:       cmp.Or(l.Quota, messageCap+messageCap/8),
		MemoryPages: cmp.Or(l.MemoryPages, 256),
		CloseGrace:  cmp.Or(l.CloseGrace, 2*time.Second),
		FuelRate:    cmp.Or(l.FuelRate, 4*wasm.EventBudget),
	}
}

// MaxHeld returns the most bytes that an instance holds for its guest: the memory of the guest, and
// the messages in transit. A queue that grows has up to a quarter of it free. MaxHeld does not count
// delivered messages, which belong to the receiver, or messages that a caller sent, which belong to
// the caller.
func (l Limits) MaxHeld() int {
	l = l.withDefaults()
	const (
		parts   = maxPartials * 256 // beside the bytes of each
		handles = abi.MaxHandles * 512
		timers  = abi.MaxTimers * 512
	)
	return int(l.MemoryPages)<<16 + l.Quota + l.Quota/4 + spareSize + keepStash + parts + handles + timers + abi.MaxSavedState
}

// Config configures an instance: which guest it runs, and for whom.
type Config struct {
	Plugin   string // the plugin's name, for errors
	Module   *wasm.Module
	Remote   Program // runs elsewhere, instead of Module; nil = here
	Limits   Limits
	Trace    Tracer                  // nil = off
	Observer Observer                // nil = none
	Log      func(abi.Level, string) // gets the log lines of the guest; nil = dropped
	Save     func(state []byte)      // gets the state that the guest saves, valid during the call; nil = dropped

	// SingleThreaded says that one goroutine makes all calls. Each call returns when the guest has
	// done all that it can, and the guest never rests. If Now and Random are set too, see
	// [wasm.InstanceConfig], the guest is deterministic.
	SingleThreaded bool
	Now            func() time.Time
	Random         io.Reader
}

// Observer receives everything that passes between a guest and its host, for recordings that can be
// replayed. The owner calls it, one call at a time. Its arguments are valid during the call only.
// They contain all bytes except those of a sealed payload, so an Observer that keeps bytes must
// remove the secrets.
type Observer interface {
	// Event begins an event. A sealed payload is nil, whatever its size.
	Event(kind abi.Kind, handle, arg, size uint32, payload []byte)

	// Call is called after a host call was answered. args are the guest's arguments, and carried
	// the bytes that they point to, if any.
	Call(c abi.Call, args []uint32, carried []byte, result int32)

	// Return ends the event. err is nil if the guest returned from it.
	Return(result int32, err error)
}

// Tracer gets each line of the call trace, in the form of package abi, and the bytes that the line
// is about, if there are any. Both are valid during the call only. The owner calls it.
type Tracer func(line, payload []byte)

// maxPartials is how many exchanges may have a message that was delivered in part. It is far above
// [abi.MaxHandles], which bounds the messages that a guest can be reading at a time.
const maxPartials = 1024

// spareSize is the length up to which a message is collected in the spare buffer, for the receiver
// to copy. The buffer of a longer one is given to the receiver.
const spareSize = 128 << 10

// keepStash is the most bytes of a stash that are kept for reuse.
const keepStash = 256 << 10
