package guest

import (
	"cmp"
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
	TooBig(exchange uint32, head, tail []byte)

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

	// Solicited messages were asked for by what the guest delivered: replies, the next
	// page of a list. They earn fuel only as far as bytes from outside have paid.
	Solicited() bool

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

// Held is the most that an instance holds for its guest, in bytes: the memory of the guest,
// and the messages under way. A queue that grows has up to a quarter of it free. Messages
// that were delivered belong to the receiver, and messages that a caller sent to the caller:
// neither are counted.
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
	// returns when the guest has done all it can, and it is never put to rest. If Now and
	// Random are set too, see [wasm.InstanceConfig], the guest does the same each time.
	SingleThreaded bool
	Now            func() time.Time
	Random         io.Reader
}

// Observer sees all that passes between a guest and its host, for recordings that can be run
// again. The owner calls it, so one call at a time; what it is given is valid during the call
// only. Only the bytes of a sealed payload are left out, so an Observer that keeps bytes has
// to hide the secrets.
type Observer interface {
	// Event begins an event. A sealed payload is nil, whatever its size.
	Event(kind abi.Kind, handle, arg, size uint32, payload []byte)

	// Call is a host call that was answered, with its arguments as the guest passed
	// them and the bytes that they point to, if they do.
	Call(c abi.Call, args []uint32, carried []byte, result int32)

	// Return ends the event; err is nil unless the guest did not return from it.
	Return(result int32, err error)
}

// Tracer gets each line of the call trace, in the form of package abi, together with the
// bytes that the line is about, if there are any. Both are valid during the call only. The
// owner calls it.
type Tracer func(line, payload []byte)

// maxPartials is how many exchanges may have a message of which only a part has been
// delivered. It is far above [abi.MaxHandles], which bounds the messages that a guest
// can be reading at once.
const maxPartials = 1024

// spareSize is how large a message may be to be collected in the spare buffer
// and copied by the receiver. The buffer of a larger one is given away.
const spareSize = 128 << 10

// keepStash is how much of a stash waits for another use, in bytes.
const keepStash = 256 << 10
