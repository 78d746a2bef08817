package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

const (
	// longestLine bounds a line of the protocol. INFO is the only one that is long:
	// it lists the servers of a cluster.
	longestLine = 64 << 10

	// longestStatus bounds how many bytes of a message's headers are looked at: the status
	// stands at their beginning.
	longestStatus = 32
)

var newline = abi.PackNeedles("\n")

// reader finds messages in the stream of the NATS server: lines, and after some lines as many
// bytes as the line says. It delivers those bytes from the host's memory, part by part as
// they come. It finds the same messages, however the stream was cut.
type reader struct {
	transport *transport

	line []byte // the part that has come
	body body
}

// body is the state of the bytes after a line: headers, a message, and a line end.
type body struct {
	exchange uint32
	wanted   bool // it came to an inbox of ours
	headers  int  // bytes of the headers that are still to come
	message  int  // bytes of the message that are still to come
	end      int  // bytes after the message that are still to come

	status []byte // the beginning of the headers
}

func (b *body) left() bool { return b.headers+b.message+b.end > 0 }

// data takes the next bytes of the stream.
func (r *reader) data(p sdk.Payload) error {
	for p.Len() > 0 {
		if r.body.left() {
			p = r.carry(p)
			continue
		}
		part, i := p, p.Scan(newline)
		if i >= 0 {
			part = p.Slice(0, i)
		}
		if !r.take(part) {
			return sdk.Fail(abi.ProtocolFailed, "this is no NATS server: it sent a line that does not end")
		}
		if i < 0 {
			return nil
		}
		p = p.From(i + 1)
		line := bytes.TrimRight(r.line, "\r")
		r.line = r.line[:0]
		if err := r.hear(line); err != nil {
			return err
		}
	}
	return nil
}

// take adds bytes to the line, and reports false if that gets too long.
func (r *reader) take(p sdk.Payload) bool {
	at, n := len(r.line), p.Len()
	if at+n > longestLine {
		return false
	}
	r.line = slices.Grow(r.line, n)[:at+n]
	p.Take(r.line[at:])
	return true
}

// hear handles a whole line.
func (r *reader) hear(line []byte) error {
	t := r.transport
	op, rest, _ := bytes.Cut(line, space)
	switch string(op) {
	case "MSG":
		return r.expect(rest, 3)
	case "HMSG":
		return r.expect(rest, 4)
	case "PING":
		t.stream.Write(pong, abi.More)
	case "PONG":
		if !t.up {
			t.up = true
			t.conn.Up()
		}
	case "INFO":
		t.informed(rest)
	case "-ERR":
		return t.refused(string(bytes.Trim(rest, " '")))
	case "+OK", "":
	default:
		return sdk.Fail(abi.ProtocolFailed, "this is no NATS server: it sent "+quote(line))
	}
	return nil
}

var (
	space = []byte{' '}
	pong  = []byte("PONG\r\n")
)

// expect reads the words behind MSG or HMSG: a subject, our number for the subscription, perhaps
// a subject for answers, and the sizes. The last word is the size of headers and message
// together; for HMSG, the size of the headers stands before it. least is the fewest words that
// the line may have.
func (r *reader) expect(line []byte, least int) error {
	var words [5][]byte
	n := 0
	for rest := line; len(rest) > 0 && n < len(words); n++ {
		words[n], rest, _ = bytes.Cut(rest, space)
		rest = bytes.TrimLeft(rest, " ")
	}
	headers, total := 0, -1
	if n == least || n == least+1 {
		total = number(words[n-1])
		if least == 4 {
			headers = number(words[n-2])
		}
	}
	if headers < 0 || headers > total {
		return sdk.Fail(abi.ProtocolFailed, "the NATS server announces a message with "+quote(line))
	}
	exchange, wanted := r.transport.exchangeOf(words[0])
	r.body = body{
		exchange: exchange, wanted: wanted,
		headers: headers, message: total - headers, end: len(lineEnd),
		status: r.body.status[:0],
	}
	return nil
}

// number reads a size. It returns -1 if the word is no size.
func number(word []byte) int {
	n, err := strconv.ParseUint(string(word), 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// carry takes what it can of the body and returns the rest.
func (r *reader) carry(p sdk.Payload) sdk.Payload {
	b := &r.body
	n := p.Len()
	switch {
	case b.headers > 0:
		n = min(n, b.headers)
		b.headers -= n
		r.header(p.Slice(0, n))
	case b.message > 0:
		n = min(n, b.message)
		b.message -= n
		r.deliver(p.Slice(0, n))
	default:
		n = min(n, b.end)
		b.end -= n
	}
	return p.From(n)
}

// header takes some of the headers, of which only the status matters: 503 is how a
// NATS server says that the subject has no subscriber.
func (r *reader) header(p sdk.Payload) {
	b := &r.body
	at := len(b.status)
	n := min(p.Len(), longestStatus-at)
	b.status = slices.Grow(b.status, longestStatus)[:at+n]
	p.Take(b.status[at:])
	if b.headers > 0 || !b.wanted || b.exchange == 0 {
		return
	}
	if bytes.HasPrefix(b.status, noResponders) {
		t := r.transport
		t.conn.Failed(b.exchange, abi.Refused, "no server listens on "+t.requests)
	}
}

var noResponders = []byte("NATS/1.0 503")

// deliver passes a part of the message to the host. Notifications may come before the answer to
// a request. The answer ends the request, and so does a message that is no valid one.
func (r *reader) deliver(p sdk.Payload) {
	b := &r.body
	switch {
	case !b.wanted:
	case b.message > 0:
		p.Deliver(b.exchange, abi.More)
	default:
		switch p.Deliver(b.exchange, abi.End) {
		case abi.VerdictAnswer, abi.VerdictWrongID, abi.VerdictMalformed, abi.VerdictTooBig:
			if b.exchange != shared {
				r.transport.conn.Done(b.exchange)
			}
		}
	}
}

// shared is the exchange of messages that belong to no request.
const shared = 0

// exchangeOf returns the exchange to whose inbox a subject leads. ours is false if it leads
// to none: another client has published to our inboxes.
func (t *transport) exchangeOf(subject []byte) (exchange uint32, ours bool) {
	if len(subject) < len(t.inbox) || string(subject[:len(t.inbox)]) != t.inbox {
		return 0, false
	}
	n, err := strconv.ParseUint(string(subject[len(t.inbox):]), 10, 32)
	return uint32(n), err == nil
}

// informed reads the needed fields of INFO. It searches for a key with its quotes, which a
// text of JSON cannot contain: there the quotes would have backslashes.
func (t *transport) informed(info []byte) {
	if _, rest, ok := bytes.Cut(info, []byte(`"max_payload":`)); ok {
		rest = bytes.TrimLeft(rest, " ")
		end := bytes.IndexFunc(rest, func(c rune) bool { return c < '0' || c > '9' })
		if n := number(rest[:max(end, 0)]); n > 0 {
			t.mostBytes = uint64(n)
		}
	}
	t.asksForTLS = bytes.Contains(info, []byte(`"tls_required":true`))
}

// refused handles an error of the NATS server. Most errors end the connection, and an
// error about a request must end it, because the error does not name the request.
func (t *transport) refused(said string) error {
	text := "the NATS server says: " + said
	lower := strings.ToLower(said)
	has := func(s string) bool { return strings.Contains(lower, s) }
	switch {
	case has("permissions violation for publish") && !has(strings.ToLower(`"`+t.requests+`"`)):
		t.conn.Log(abi.LevelWarn, text)
		return nil
	case has("permissions violation for subscription"):
		text += `; write inbox = "…" in the entry, with what this user's inboxes begin with`
		return sdk.Fail(abi.Denied, text)
	case has("permissions violation"):
		return sdk.Fail(abi.Denied, text)
	case has("stale connection"), has("authentication timeout"):
		return sdk.Fail(abi.TimedOut, text)
	case has("authorization"), has("authentication"):
		return sdk.Fail(abi.Unauthorized, text+"; look at auth in the entry")
	case has("tls"):
		return sdk.Fail(abi.ProtocolFailed, text+`; write address = "tls:…"`)
	}
	return sdk.Fail(abi.ProtocolFailed, text)
}

// quote returns the beginning of a line for an error.
func quote(line []byte) string {
	return strconv.Quote(string(line[:min(len(line), 60)]))
}
