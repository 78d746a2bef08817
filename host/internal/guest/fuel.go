package guest

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Fuel that events bring with them. The text is in package abi, "Budgets".
const (
	// eventFuel is what an event adds to the rate of its connection. Another event may use
	// what one event leaves: the garbage collector of a Go guest sleeps for thousands of
	// events, and then takes several times their own fuel during as many.
	eventFuel = 200_000

	// bulkFuel is for each byte of a payload past the first piece.
	bulkFuel = 64

	// outsideFuel is what each byte from outside adds to the prepaid fuel, for the messages
	// that it asks for. The smallest request that a transport can carry, a ping in a
	// compressed frame, has no fewer than eight bytes, and they pay for its answer.
	outsideFuel = eventFuel / 8

	// prepaidLimit is how much may be prepaid. A server that asks for more before
	// it hears an answer is told that the host is busy.
	prepaidLimit = 1000 * eventFuel
)

// earnedBy is the fuel that a payload adds to an event. What goes past a piece is
// a message or the body of an answer, which few guests look at byte by byte; were
// it worth as much, a long one would buy a hostile guest seconds.
func earnedBy(size int) int64 {
	piece := min(size, pieceSize)
	return int64(piece)*wasm.FuelPerPayloadByte + int64(size-piece)*bulkFuel
}

// fuelBucket bounds how much fuel a connection may use over time, in addition to what its
// events earn. It stops a guest that keeps itself busy.
type fuelBucket struct {
	rate, level int64
	filled      time.Time

	// prepaid is what bytes from outside have paid for and no message of ours has used. A
	// message that answers those bytes earns no more than that. A guest takes messages apart and
	// puts them together again, so the host cannot tell whether a request that it delivers
	// came from its server. A guest that makes requests up finds nothing prepaid.
	prepaid int64
}

// credit is what an event earns for its connection: eventFuel, and used, which is the fuel
// that its payload adds, as far as the guest has used it. What the guest can bring about by
// itself earns nothing: timers, handles that open, end and fail.
func (b *fuelBucket) credit(it *item, used int64) int64 {
	earns := used + eventFuel
	switch it.kind {
	case abi.EventData, abi.EventHead:
		b.prepaid = min(b.prepaid+int64(len(it.payload))*outsideFuel, prepaidLimit)
	case abi.EventMessage:
		if it.msg.Solicited() {
			earns = min(earns, b.prepaid)
			b.prepaid -= earns
		}
	case abi.EventCancel:
	default:
		return 0
	}
	return earns
}

// spend takes n units, or, below zero, gives them; false means that the bucket is
// empty. It looks at the clock only when it must.
func (b *fuelBucket) spend(n int64, now func() time.Time) bool {
	if b.level = min(b.level-n, b.rate); b.level >= 0 {
		return true
	}
	t := now()
	if b.filled.IsZero() {
		b.filled = t.Add(-time.Second)
	}
	gained := min(t.Sub(b.filled), time.Second).Seconds() * float64(b.rate)
	b.filled = t
	b.level = min(b.level+int64(gained), b.rate)
	return b.level >= 0
}

// Budget is the fuel for an event with that many bytes of payload.
func Budget(payload int) int64 { return wasm.EventBudget + earnedBy(payload) }

// pieceSize is how much of a chunk a guest gets at a time: it bounds how long
// one event may take, since the budget of an event grows with its payload.
const pieceSize = 16 << 10
