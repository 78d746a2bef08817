package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

// joinedError is the error of a request that failed in the daemon, as if it had failed here: it is of
// the same kind, and no answer of a server.
type joinedError struct {
	kind error // of package host
	text string
	sent string // "no" or "maybe" for a call without an answer
}

func (e *joinedError) Error() string { return e.text }
func (e *joinedError) Unwrap() error { return e.kind }

// joinedKinds are the kinds of errors, by the words of [host.ErrorKind].
var joinedKinds = map[string]error{
	"unreachable": host.ErrUnreachable, "timeout": host.ErrTimeout, "sign_in_needed": host.ErrAuthRequired, "denied": host.ErrDenied,
	"configuration": host.ErrConfig, "protocol": host.ErrProtocol, "unsupported": host.ErrUnsupported,
}

// ofDaemon returns the error of a command. If the command has used a server of the daemon, and the
// daemon says why a request failed, that is the error.
func (a *app) ofDaemon(err error) error {
	var answer *host.RPCError
	if a.streams[daemonStream] == nil || !errors.As(err, &answer) {
		return err
	}
	var why struct {
		Kind, Hint string
		MaybeSent  bool
	}
	if json.Unmarshal(answer.Data, &why) != nil || joinedKinds[why.Kind] == nil {
		return err
	}
	joined := &joinedError{kind: joinedKinds[why.Kind], text: strings.TrimSuffix(answer.Message, ". Hint: "+why.Hint)}
	switch {
	case why.MaybeSent:
		joined.text, joined.sent = strings.TrimSuffix(joined.text, "; the server may have acted on the request"), "maybe"
		why.Hint = mayHaveActed(why.Hint)
	case why.Kind == "unreachable":
		joined.sent = "no"
	}
	return exit.WithHint(joined, why.Hint)
}

// mayHaveActed returns the hint of a call without an answer, above another hint.
func mayHaveActed(hint string) string {
	return strings.TrimSuffix("the server may have received it, and acted on it\n"+hint, "\n")
}
