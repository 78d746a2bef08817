package plugintest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// inbox is the layer above the guest. It keeps the delivered messages, and gives the verdicts.
type inbox struct {
	harness *harness
	got     []string // messages that were delivered
	refused []abi.Verdict
	large   int
	closed  error
	fault   error // the first rule of the ABI that the guest broke
}

// blame records a broken rule of the ABI. The first one is kept.
func (b *inbox) blame(format string, args ...any) {
	if b.fault == nil {
		b.fault = fmt.Errorf(format, args...)
	}
}

func (b *inbox) Deliver(exchange uint32, msg []byte, _ bool) abi.Verdict {
	v, text := b.judge(exchange, msg), string(msg)
	if left, known := b.harness.said[trimmed(text)]; known { // a message in other bytes than the server's is not
		if left == 0 {
			b.blame("a message was delivered twice, and the server said it once: %s", short(msg))
		} else {
			b.harness.said[trimmed(text)]--
		}
	}
	switch {
	case v == abi.VerdictBlank:
	case v > abi.VerdictPending:
		b.got = append(b.got, text)
	default:
		b.refused = append(b.refused, v)
	}
	return v
}

// judge returns the verdict that a host would return.
func (b *inbox) judge(exchange uint32, msg []byte) abi.Verdict {
	v := sdktest.Classify(msg)
	if exchange != 0 && b.harness.of(exchange).sent == "" {
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
	case !b.harness.of(id).waiting:
		return abi.VerdictLate
	}
	b.harness.of(id).waiting = false
	return abi.VerdictAnswer
}

func (b *inbox) TooBig(uint32, []byte, []byte) { b.large++ }

// Done ends an exchange. A request that still waits then has no answer.
func (b *inbox) Done(exchange uint32) {
	b.ends(exchange, "DONE")
	x := b.harness.of(exchange)
	x.done, x.unanswered, x.waiting = true, x.waiting, false
}

func (b *inbox) Failed(exchange uint32, err error) {
	var unsent *guest.UnsentError
	if !errors.As(err, &unsent) {
		b.ends(exchange, "FAILED")
	}
	x := b.harness.of(exchange)
	x.failed, x.waiting = err, false
}

// ends checks that an exchange ends once.
func (b *inbox) ends(exchange uint32, how string) {
	switch x := b.harness.of(exchange); {
	case x.sent == "":
		b.blame("report(%s) for exchange %d, which no message has", how, exchange)
	case x.done || x.failed != nil:
		b.blame("report(%s) for exchange %d, which has ended before", how, exchange)
	case b.harness.record.results[exchange] == "1":
		b.blame("report(%s) for exchange %d, of which MESSAGE returned HANDED OVER", how, exchange)
	}
}

func (b *inbox) Expired(uint32) {}

func (b *inbox) OfferInline(uint32, hostio.InlineIO) bool { return false }

func (b *inbox) Close(err error) { b.closed = err }

// envelope holds the members of a message that the kit looks at.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  json.RawMessage `json:"error"`
	Params json.RawMessage `json:"params"`
}

func readEnvelope(text string) (envelope, error) {
	var e envelope
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return e, fmt.Errorf("expected a JSON-RPC message: %w", err)
	}
	return e, nil
}

// name returns the name in the facts: the name of a tool or prompt, or the address of a resource.
func (e *envelope) name() string {
	var params struct{ Name, URI string }
	_ = json.Unmarshal(e.Params, &params) // others have no name
	if params.Name == "" {
		return params.URI
	}
	return params.Name
}

func (e *envelope) kind() abi.MessageKind {
	switch {
	case e.Method == "":
		return abi.Reply
	case e.ID == nil:
		return abi.Notification
	}
	return abi.Request
}

// exchange returns the exchange that the message belongs to. In scenarios the id of a request is
// the number of its exchange.
func (e *envelope) exchange() (uint32, bool) {
	n, err := strconv.ParseUint(string(e.ID), 10, 32)
	return uint32(n), err == nil
}

// request returns a request of size bytes, for scenarios and measurements.
func request(exchange uint32, size int) string {
	head := `{"jsonrpc":"2.0","id":` + strconv.Itoa(int(exchange)) + `,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`
	return padded(head, `"}}}`, size)
}

// reply returns the answer of size bytes to the request of an exchange.
func reply(exchange uint32, size int) string {
	head := `{"jsonrpc":"2.0","id":` + strconv.Itoa(int(exchange)) + `,"result":{"content":[{"type":"text","text":"`
	return padded(head, `"}]}}`, size)
}

// padded joins two parts with as much text between them as it takes to make size bytes.
func padded(head, tail string, size int) string {
	return head + fillText(max(0, size-len(head)-len(tail))) + tail
}
