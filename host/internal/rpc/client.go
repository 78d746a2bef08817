package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// ErrInputEnded is the error of a call to a client that sends nothing more.
var ErrInputEnded = errors.New("the client sends nothing more")

// InputEnded says that a client will send no more messages. It ends the calls to the client,
// because no answer will come, and lets no other begin. It does not wait.
func (p *Peer) InputEnded() { p.flight.hangUp(ErrInputEnded) }

// AwaitAnswered waits until every request that came has had its answer and the link has taken all
// messages that no caller waits for, or until ctx ends.
func (p *Peer) AwaitAnswered(ctx context.Context) error {
	if err := p.serving.awaitIdle(ctx); err != nil {
		return err
	}
	return p.sender.flush(ctx)
}

// AwaitRoom waits until there is room for another refusal, or until ctx ends. In the serving role
// no refusal is dropped, so the link calls AwaitRoom before it reads on.
func (p *Peer) AwaitRoom(ctx context.Context) error { return p.sender.awaitRoom(ctx) }

// codeParse says that the text is no JSON (JSON-RPC 2.0, section 5.1).
const codeParse = -32700

// nullID is the id of the answer to a request whose own id cannot be read.
var nullID = []byte("null")

// refuseMalformed answers a malformed message of a client. It does not answer one that is itself an
// answer or a notification. It uses the id of the message even if the text is no JSON further on: a
// client that waits for that id learns of the error.
func (p *Peer) refuseMalformed(msg []byte, why error) {
	if id, fault := refusalOf(msg, why); fault != nil {
		p.refuse(&Incoming{id: id}, fault)
	}
}

// refusalOf returns the id and the error for the answer to a malformed message. The error is nil if
// the message is certainly no request.
func refusalOf(msg []byte, why error) (id []byte, fault *Error) {
	code := codeInvalidRequest
	if strictjson.Valid(msg, strictjson.DefaultDepth) != nil {
		code = codeParse
	}
	id, asked := scanRequest(msg, code == codeInvalidRequest)
	if !asked {
		return nil, nil
	}
	return id, &Error{Code: code, Message: why.Error()}
}

// refuseTooBig answers a request that exceeded the message cap. Only the head and the tail of the
// request are left.
func (p *Peer) refuseTooBig(head, tail []byte) {
	id, asked := scanRequest(head, false)
	if last := strictjson.LastID(tail); bytes.Equal(id, nullID) && echoable(last) {
		id = last
	}
	if asked {
		p.refuse(&Incoming{id: id}, &Error{Code: codeInvalidRequest, Message: "the request is larger than the message cap"})
	}
}

// scanRequest looks at a malformed or cut message of a client. It returns the id of the answer, and
// false if the message is certainly no request: it is an answer, or a notification. whole says that
// the text is all there.
func scanRequest(msg []byte, whole bool) (id []byte, asked bool) {
	id = nullID
	r := strictjson.Read(msg)
	if r.Kind() != '{' {
		return id, true
	}
	ids, method, outcome := 0, []byte(nil), false
	for key := range r.Object() {
		switch string(key) {
		case "method":
			method = r.Raw()
		case "result", "error":
			outcome = true
		case "id":
			ids++
			if raw := r.Raw(); !r.Cut() && echoable(raw) {
				id = raw
			}
		}
	}
	switch {
	case ids > 1:
		id = nullID
	case method == nil:
		return id, !outcome
	case ids == 0:
		return id, !whole && !bytes.HasPrefix(method, []byte(`"notifications/`))
	}
	return id, true
}

// echoable reports whether raw is an id that an answer may have.
func echoable(raw []byte) bool {
	return len(raw) > 0 && len(raw) <= maxToken && (raw[0] == '"' || raw[0] == '-' || raw[0]-'0' <= 9) &&
		strictjson.Valid(raw, 0) == nil
}

// maxBatch is how many messages an array of a client may have, each of which may cost an answer.
const maxBatch = 1000

var errBatchTooLong = fmt.Errorf("%w: more than %d messages in an array", ErrMalformed, maxBatch)
