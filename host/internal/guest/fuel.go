package guest

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// The fuel that events earn. Package abi explains it under "Budgets".
const (
	// eventFuel is the fuel that one event earns, in addition to the rate of its connection. A
	// later event may use what is left: the garbage collector of a Go guest rests for thousands of
	// events, and then takes several times their fuel.
	eventFuel = 200_000

	// bulkFuel is the fuel for each byte of a payload after the first piece.
	bulkFuel = 64

	// outsideFuel is the prepaid fuel for each byte from outside. It pays for the messages that the
	// byte causes. The smallest request on any transport, a ping in a compressed frame, has at
	// least eight bytes, which pay for its answer.
	outsideFuel = eventFuel / 8

	// prepaidLimit is the most prepaid fuel. If a server asks for more before it reads an answer,
	// it is told that the host is busy.
	prepaidLimit = 1000 * eventFuel
)

// earnedBy returns the fuel that a payload of size bytes adds to an event. Bytes after the first
// piece earn less: few guests look at each byte of a message or body, and at the full rate a long
// one would let a hostile guest run for seconds.
func earnedBy(size int) int64 {
	piece := min(size, pieceSize)
	return int64(piece)*wasm.FuelPerPayloadByte + int64(size-piece)*bulkFuel
}

// fuelBucket bounds how much fuel a connection may use over time, in addition to what its events
// earn. It stops a guest that keeps itself busy.
type fuelBucket struct {
	rate, level int64
	filled      time.Time

	// prepaid is fuel that bytes from outside have paid and no outgoing message has used. A message
	// that answers those bytes earns only from it. A guest splits and joins messages, so the host cannot
	// tell whether a request that the guest delivers came from its server. A guest that invents
	// requests finds nothing prepaid.
	prepaid int64
}

// credit returns the fuel that an event earns for its connection: eventFuel, and used, the part of
// its payload's fuel that the guest has used. A solicited message earns at most what is prepaid, and
// takes that. Bytes from outside are added to prepaid. Events that the guest can cause by itself
// earn nothing: timers, and handles that open, end and fail.
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

// spend takes n units, or gives them if n is below zero. It returns false if the bucket is empty.
// It reads the clock only when it must.
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

// Budget returns the fuel for an event with that many bytes of payload.
func Budget(payload int) int64 { return wasm.EventBudget + earnedBy(payload) }

// pieceSize is how many bytes of a chunk a guest gets in one event. It bounds the time of an event,
// because the budget grows with the payload.
const pieceSize = 16 << 10
