package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// The reasons for which a call ends without a result. Each arrives wrapped in a [*CallError]. If
// the server answers with an error, the call returns an [*Error] instead.
var (
	// ErrTimeout: the server did not answer in time. If the caller's own deadline passes, the error
	// is context.DeadlineExceeded instead.
	ErrTimeout = errors.New("timed out")

	// ErrClosed: the connection is closed.
	ErrClosed = errors.New("connection closed")

	// ErrNoResponse: the transport says that nothing more will come.
	ErrNoResponse = errors.New("no response received")

	// ErrMalformed: the server sent something that is not a JSON-RPC message.
	ErrMalformed = errors.New("malformed message")

	// ErrBatch: the server sent an array where the protocol has none.
	ErrBatch = errors.New("array of messages, which this protocol revision does not have")

	// ErrTooBig: the answer is over the message cap.
	ErrTooBig = errors.New("answer is larger than the message cap")

	// ErrChangedID: the server answered with the id in another spelling.
	ErrChangedID = errors.New("server changed the id's type")

	// ErrWrongID: the server answered with an id that was not asked for.
	ErrWrongID = errors.New("answer with another id")

	// ErrParams: the parameters cannot be sent.
	ErrParams = errors.New("parameters cannot be sent")

	// ErrNotSent matches, by errors.Is, a [*CallError] whose Sent is NotSent. A link that
	// knows that a message was not sent wraps ErrNotSent in the error that it passes to
	// [Peer.Failed].
	ErrNotSent = errors.New("not sent")
)

// NoResponseError is an [ErrNoResponse] for a request that had an exchange of its own.
type NoResponseError struct {
	Exchange uint32
	HTTP     int // the status of the response that held no answer; 0 if there was none
}

func (e *NoResponseError) Error() string {
	switch {
	case e.HTTP >= 300: // of a GET: a POST that is refused has not ended without a response
		return fmt.Sprintf("%v: the stream ended without the answer, and the server refused to go on with it: HTTP %d", ErrNoResponse, e.HTTP)
	case e.HTTP != 0:
		return fmt.Sprintf("%v: the body of HTTP %d ended without the answer", ErrNoResponse, e.HTTP)
	}
	return fmt.Sprintf("%v for request ID %d", ErrNoResponse, e.Exchange)
}

func (e *NoResponseError) Unwrap() error { return ErrNoResponse }

// OtherIDError is the reason for which an answer is dropped whose id was never given out.
type OtherIDError struct{ ID string } // as it is written, cut after 40 bytes

func (e *OtherIDError) Error() string {
	return "it answered with the id " + e.ID + ", which no request has"
}

// Sent says what is known about a call's message after the call has failed.
type Sent uint8

// A call may safely be made again if it was NotSent, and only then.
const (
	NotSent   Sent = iota // it never left
	MaybeSent             // the server may have it
	Answered              // the server has answered, but the answer cannot be used
)

// CallError is the error of a call that ended without a usable answer.
type CallError struct {
	Method string
	Sent   Sent
	Err    error
}

func (e *CallError) Error() string {
	if e.Sent == NotSent && !errors.Is(e.Err, ErrNotSent) {
		return e.Method + ": not sent: " + e.Err.Error()
	}
	return e.Method + ": " + e.Err.Error()
}

func (e *CallError) Unwrap() error { return e.Err }

// Is matches ErrNotSent if the call was not sent, beside the errors that Err matches.
func (e *CallError) Is(target error) bool { return target == ErrNotSent && e.Sent == NotSent }

// StatusError is an error that a link passes to [Peer.Failed] when the failure concerns an HTTP
// response. Its text is that of Err.
type StatusError struct {
	HTTP    int  // the status of the response; 0 where it is not known
	Refused bool // the server answered that it did not take the message, which may be sent again
	Err     error
}

// refusedByBroker reports whether err says that a broker refused a message because it knows no
// server for it. A refusal with an HTTP status came from a server.
func refusedByBroker(err error) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Refused && e.HTTP == 0
}

func (e *StatusError) Error() string { return e.Err.Error() }
func (e *StatusError) Unwrap() error { return e.Err }

// Error is the error that a server answered, in the server's words. A [Handler] returns one to
// choose what the server is told.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // may be nil
	HTTP    int             // the status of the response that carried it; 0 if none did
	Wait    time.Duration   // that this response asks for with Retry-After; 0 if it does not
	Raw     json.RawMessage // the error object as it was written; nil for one that was not received
}

// mostShown is the most bytes of a server's message that an error text shows. Each layer above
// copies that text.
const mostShown = 4 << 10

func (e *Error) Error() string {
	code := fmt.Sprintf("MCP error %d: ", e.Code)
	shown, more := strings.TrimPrefix(e.Message, code), "" // some servers put the code into the message themselves
	if end := mostShown; len(shown) > end {
		for !utf8.RuneStart(shown[end]) && end > mostShown-utf8.UTFMax {
			end--
		}
		shown, more = shown[:end], fmt.Sprintf("… (%d bytes more)", len(shown)-end)
	}
	return code + shown + more + hostio.AskedWait(e.Wait)
}

// Codes of JSON-RPC 2.0, section 5.1, with which a peer itself answers.
const (
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInternal       = -32603
)
