package main

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// transport is one connection to a NATS server, as one of its clients. It keeps
// no state of a request: the name of the inbox for an answer ends in the number of the
// exchange.
type transport struct {
	stream sdk.Handle
	conn   *sdk.Conn
	fill   func(*[12]byte) // with randomness

	requests string // the subject whose messages one server of the fleet gets
	cancels  string // the subject whose messages every server gets
	notes    string
	inbox    string // with a dot at the end

	up         bool   // the server has answered our PING
	mostBytes  uint64 // that the server accepts in one message
	asksForTLS bool

	in  reader
	out []byte // scratch for the bytes to write
}

// Open dials. The stream is essential: a NATS server that goes away ends the
// connection, and the next call makes another.
func (t *transport) Open(c *sdk.Conn, s *abi.Settings) (err error) {
	prefix, inbox := s.Value(settingPrefix), s.Value(settingInbox)
	if inbox == "" {
		inbox = "_INBOX"
	}
	for _, of := range [][2]string{{settingPrefix, prefix}, {settingInbox, inbox}} {
		if !isSubject(of[1]) {
			return sdk.Fail(abi.Malformed, of[0]+` = "`+of[1]+`" is no subject: want words with dots between them, like mcp.notes`)
		}
	}
	var nonce [12]byte
	t.fill(&nonce)
	t.conn, t.in.transport, t.mostBytes = c, t, defaultPayload
	t.requests, t.cancels, t.notes = prefix+".request", prefix+".cancel", prefix+".notify"
	t.inbox = inbox + "." + hex.EncodeToString(nonce[:]) + "."
	t.stream, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	return err
}

// defaultPayload is the longest message in bytes if the NATS server does not tell.
const defaultPayload = 1 << 20

// isSubject reports whether a text can begin a subject: it has no wildcards, and nothing that
// would end a line or a word of the protocol.
func isSubject(s string) bool {
	for token := range strings.SplitSeq(s, ".") {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == '*' || r == '>' || r == 0x7f }) {
			return false
		}
	}
	return true
}

// Handle handles all events but messages.
func (t *transport) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventOpened:
		t.greet(e)
	case abi.EventData, abi.EventEnd:
		if err := t.in.data(e.Payload); err != nil {
			return err
		}
		if e.Last() && !t.up {
			return t.unwelcome()
		}
	case abi.EventCancel:
		t.publish(t.cancels, 0, len(t.inbox)+digits(e.Arg))
		t.out = strconv.AppendUint(append(t.out[:0], t.inbox...), uint64(e.Arg), 10)
		t.stream.Write(append(t.out, "\r\n"...), abi.More)
	case abi.EventClose:
		t.stream.Close()
		e.Conn().Ended()
	}
	return nil
}

// greet sends CONNECT and subscribes the inboxes, without waiting for INFO: the credentials can
// only be forwarded during this event. The server handles everything in order, so its PONG says
// that all of it is in place. A provider gives fields for the JSON of CONNECT, which greet
// forwards unseen.
func (t *transport) greet(e sdk.Event) {
	t.out = append(t.out[:0], `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"lang":"wharf","version":"`+version+`","protocol":1`...)
	if e.Sealed() {
		t.stream.Write(append(t.out, ','), abi.More)
		t.stream.Forward(e.Payload, abi.More)
		t.out = t.out[:0]
	}
	t.out = append(t.out, "}\r\nSUB "...)
	t.out = append(append(t.out, t.inbox...), "* 1\r\nPING\r\n"...)
	t.stream.Write(t.out, abi.More)
}

// unwelcome returns the error of a connection that the server ended before it answered.
func (t *transport) unwelcome() error {
	if t.asksForTLS {
		return sdk.Fail(abi.ProtocolFailed, `the NATS server asks for TLS: write address = "tls:…", and in its configuration tls { handshake_first: true }`)
	}
	return sdk.Fail(abi.Reset, "the NATS server closed the connection before it was ready")
}

// Message publishes a message. The end of a request is reported later, even if no server listens.
// Other messages are done at once, since nothing answers them.
func (t *transport) Message(m sdk.Message) (sdk.Outcome, error) {
	facts, err := m.Facts()
	if err != nil {
		return 0, err
	}
	if uint64(m.Len()) > t.mostBytes {
		return m.Fail(abi.Refused, "the NATS server takes messages up to "+strconv.FormatUint(t.mostBytes, 10)+" bytes")
	}
	outcome, subject, reply := sdk.HandedOver, t.notes, uint32(0)
	if facts.Kind() == abi.Request {
		outcome, subject, reply = sdk.Later, t.requests, m.Exchange
	}
	t.publish(subject, reply, m.Len())
	t.stream.Forward(m.Payload, abi.More)
	if s := t.stream.Write(lineEnd, abi.More); s < abi.OK {
		return m.Fail(s, "the NATS server closed the connection")
	}
	return outcome, nil
}

var lineEnd = []byte("\r\n")

// publish writes the line before the size bytes of a message. reply is the exchange
// whose inbox gets the answer, or 0.
func (t *transport) publish(subject string, reply uint32, size int) {
	t.out = append(append(append(t.out[:0], "PUB "...), subject...), ' ')
	if reply != 0 {
		t.out = append(strconv.AppendUint(append(t.out, t.inbox...), uint64(reply), 10), ' ')
	}
	t.out = append(strconv.AppendUint(t.out, uint64(size), 10), "\r\n"...)
	t.stream.Write(t.out, abi.More)
}

func digits(n uint32) (count int) {
	for count = 1; n >= 10; n /= 10 {
		count++
	}
	return count
}
