package plugintest

import (
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// inbox is the layer above the guest: it keeps what is delivered, and knows which
// requests wait for an answer.
type inbox struct {
	stage      *harness
	waiting    map[uint32]bool
	got        []delivery
	refused    []abi.Verdict
	large      int
	done       map[uint32]bool
	unanswered map[uint32]bool // requests that were done without an answer
	failed     map[uint32]error
	expired    []uint32
	closed     error
	fault      error // the first rule of the ABI that the guest broke
}

// delivery is one message that came.
type delivery struct {
	exchange uint32
	text     string
	verdict  abi.Verdict
}

// blame records a broken rule of the ABI. The first one is kept.
func (b *inbox) blame(format string, args ...any) {
	if b.fault == nil {
		b.fault = fmt.Errorf(format, args...)
	}
}

func (b *inbox) Deliver(exchange uint32, msg []byte, _ bool) abi.Verdict {
	v := b.judge(exchange, msg)
	b.count(string(msg))
	if v > abi.VerdictPending && v != abi.VerdictBlank {
		b.got = append(b.got, delivery{exchange, string(msg), v})
	} else if v != abi.VerdictBlank {
		b.refused = append(b.refused, v)
	}
	return v
}

// count finds what is delivered more often than the server said it. A message that it
// said in other bytes is not known here.
func (b *inbox) count(msg string) {
	left, known := b.stage.said[trimmed(msg)]
	switch {
	case !known:
	case left == 0:
		b.blame("a message was delivered twice, and the server said it once: %s", short([]byte(msg)))
	default:
		b.stage.said[trimmed(msg)] = left - 1
	}
}

// judge gives the verdict that a host gives.
func (b *inbox) judge(exchange uint32, msg []byte) abi.Verdict {
	v := sdktest.Classify(msg)
	if exchange != 0 && b.stage.sent[exchange] == "" {
		b.blame("a message was delivered to exchange %d, which no message has", exchange)
	}
	if v != abi.VerdictAnswer {
		return v
	}
	e, err := readEnvelope(string(msg))
	if err != nil {
		return abi.VerdictMalformed
	}
	id, ok := e.exchange()
	switch {
	case string(e.ID) == "null" && exchange != 0 && len(e.Error) > 0:
		id = exchange
	case !ok:
		return abi.VerdictMalformed
	}
	switch {
	case exchange != 0 && id != exchange:
		return abi.VerdictWrongID
	case !b.waiting[id]:
		return abi.VerdictLate
	}
	b.waiting[id] = false
	return abi.VerdictAnswer
}

func (b *inbox) TooBig(exchange uint32, head []byte) { b.large++ }

// Done ends an exchange. A request that still waits then has no answer.
func (b *inbox) Done(exchange uint32) {
	b.ends(exchange, "DONE")
	b.done[exchange], b.unanswered[exchange] = true, b.waiting[exchange]
	b.waiting[exchange] = false
}

// firstUnanswered returns a request that was done without an answer, if there is one.
func (b *inbox) firstUnanswered() (exchange uint32, found bool) {
	for n, was := range b.unanswered {
		if was {
			return n, true
		}
	}
	return 0, false
}

func (b *inbox) Failed(exchange uint32, err error) {
	var unsent *guest.UnsentError
	if !errors.As(err, &unsent) {
		b.ends(exchange, "FAILED")
	}
	b.failed[exchange] = err
	b.waiting[exchange] = false
}

// ends checks that an exchange ends once.
func (b *inbox) ends(exchange uint32, how string) {
	switch {
	case b.stage.sent[exchange] == "":
		b.blame("report(%s) for exchange %d, which no message has", how, exchange)
	case b.done[exchange] || b.failed[exchange] != nil:
		b.blame("report(%s) for exchange %d, which has ended before", how, exchange)
	case b.stage.record.results[exchange] == "1":
		b.blame("report(%s) for exchange %d, of which MESSAGE returned HANDED OVER", how, exchange)
	}
}

func (b *inbox) Expired(exchange uint32) { b.expired = append(b.expired, exchange) }

func (b *inbox) OfferInline(uint32, hostio.InlineIO) bool { return false }

func (b *inbox) Close(err error) { b.closed = err }
