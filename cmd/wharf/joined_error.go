package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/localsocket"
)

// joinedError is the error of a request that failed in the daemon, as if it had failed here: it is of
// the same kind, and no answer of a server.
type joinedError struct {
	kind error // of package host
	text string
	sent string // as [host.Sent] says
}

func (e *joinedError) Error() string { return e.text }
func (e *joinedError) Unwrap() error { return e.kind }

// joinedKinds are the kinds of errors, by the words of [host.ErrorKind].
var joinedKinds = map[string]error{
	"unreachable": host.ErrUnreachable, "timeout": host.ErrTimeout, "sign_in_needed": host.ErrAuthRequired, "denied": host.ErrDenied,
	"configuration": host.ErrConfig, "protocol": host.ErrProtocol, "unsupported": host.ErrUnsupported,
	"input_required": host.ErrInputRequired,
}

// whyFailed is what a gateway says, in the data of an error, of why a request failed.
type whyFailed struct {
	Kind, Hint        string
	MaybeSent, Ending bool
	Answered          bool    // with what is no message of the protocol
	Own               bool    // it is the gateway of the daemon that says it, and not a server that is one too
	Refusal           *string // what the server wrote, where a sign-in mends it
}

// ofDaemon returns the error of a command. If the command has used a server of the daemon, and the
// daemon says why a request failed, that is the error.
func (a *app) ofDaemon(err error) error {
	var answer *host.RPCError
	switch {
	case a.streams[daemonStream] == nil:
		return a.ofGateway(err)
	case errors.Is(err, daemon.ErrEnded), errors.Is(err, localsocket.ErrNoListener):
		return a.daemonEnded(host.MaybeSent(err))
	case !errors.As(err, &answer):
		return err
	}
	var why whyFailed
	if json.Unmarshal(answer.Data, &why) != nil || joinedKinds[why.Kind] == nil || !why.Own {
		return a.ofGateway(err)
	}
	if why.Ending {
		return a.daemonEnded(why.MaybeSent)
	}
	text, said, quotes := strings.Cut(answer.Message, cleantext.Stderr)
	joined := &joinedError{kind: joinedKinds[why.Kind], text: strings.TrimSuffix(text, ". Hint: "+why.Hint)}
	switch {
	case why.MaybeSent:
		joined.text, joined.sent = strings.TrimSuffix(joined.text, "; the server may have acted on the request"), "maybe"
		why.Hint = mayHaveActed(why.Hint)
	case why.Answered:
		joined.sent = "yes"
	case why.Kind == "unreachable":
		joined.sent = "no"
	}
	if quotes {
		joined.text += cleantext.Stderr + said
	}
	if why.Refusal != nil && a.settings != nil && !a.CanAsk() && !a.flags.mayAsk() {
		if server, _ := a.settings.find(a.server); server.URL != "" {
			joined.text = wantsSignIn(a.server, *why.Refusal)
		}
	}
	return exit.WithHint(joined, why.Hint)
}

// ofGateway returns the error of a command. If its server is a gateway of Wharf that denies the request by its own
// rules, the error is that, and no other name is suggested: a gateway does not list what it denies.
func (a *app) ofGateway(err error) error {
	var answer *host.RPCError
	var why whyFailed
	if !errors.As(err, &answer) || json.Unmarshal(answer.Data, &why) != nil || joinedKinds[why.Kind] != host.ErrDenied {
		return err
	}
	denied := &joinedError{kind: host.ErrDenied, text: plain.Word(a.server) + ": " + strings.TrimSuffix(answer.Error(), ". Hint: "+why.Hint)}
	return exit.WithHint(denied, "it is the configuration of that gateway which denies it, and not your own")
}

// daemonEnded returns the error of a request whose daemon was stopped meanwhile.
func (a *app) daemonEnded(maybeSent bool) error {
	joined := &joinedError{kind: host.ErrUnreachable, text: fmt.Sprintf("%v, through which %s was used", daemon.ErrEnded, plain.Word(a.server)), sent: "no"}
	hint := "begin the command anew; without a daemon it starts the server itself"
	switch {
	case a.ofTask != "":
		hint = a.ofTask
	case maybeSent:
		hint = mayHaveActed(hint)
	}
	if maybeSent {
		joined.sent = "maybe"
	}
	return exit.WithHint(joined, hint)
}

// mayHaveActed returns the hint of a call without an answer, above another hint.
func mayHaveActed(hint string) string {
	return strings.TrimSuffix("the server may have received it, and acted on it\n"+hint, "\n")
}
