package rpc

import (
	"errors"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// ErrAnswer is the error of ReadIncoming for a message that is an answer.
var ErrAnswer = errors.New("the message is an answer, and nothing was asked")

// ReadIncoming reads one message of a client: a request, or a notification, whose ID is nil. It is for
// clients that need no peer, because each of their messages stands by itself. What it returns aliases
// msg. Its error is ErrAnswer or an ErrMalformed.
func ReadIncoming(msg []byte) (*Incoming, error) {
	var e envelope
	err := e.parse(msg)
	switch {
	case err != nil:
		return nil, err
	case e.method == nil:
		return nil, ErrAnswer
	}
	return &Incoming{Method: known(strictjson.Unquote(e.method)), Params: e.params, id: e.id}, nil
}

// AppendRefusal appends the answer to a malformed message of a client. why is the error of
// [ReadIncoming]. It may be nil, as after a VerdictMalformed: then AppendRefusal reads the message
// again to find the error.
func AppendRefusal(dst, msg []byte, why error) []byte {
	if why == nil {
		if _, why = ReadIncoming(msg); why == nil {
			why = ErrMalformed
		}
	}
	id, fault := refusalOf(msg, why)
	if fault == nil {
		fault = &Error{Code: codeInvalidRequest, Message: why.Error()}
	}
	return AppendReply(dst, id, nil, fault)
}
