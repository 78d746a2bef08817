package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/status"
)

// The kinds of errors of this package, for errors.Is.
var (
	// ErrClosed: the host or the session was closed by its user.
	ErrClosed = hosterr.ErrClosed

	// ErrConfig: a server entry lacks something or contradicts itself.
	ErrConfig = hosterr.ErrConfig

	// ErrDenied: it is not allowed. No grant or approval was given, the entry forbids the tool, a
	// hash does not match, or the server denies it to the credentials that it was sent.
	ErrDenied = hosterr.ErrDenied

	// ErrAuthRequired: the server wants a sign-in that needs a person.
	ErrAuthRequired = hosterr.ErrAuthRequired

	// ErrLogin: an ErrAuthRequired that [Host.Login] can mend.
	ErrLogin = fmt.Errorf("%w: by login", ErrAuthRequired)

	// ErrUnknownTransport: no plugin has the name that a server entry gives.
	ErrUnknownTransport = hosterr.ErrUnknownTransport

	// ErrPluginRefused: the plugin cannot be loaded by this host.
	ErrPluginRefused = hosterr.ErrPluginRefused

	// ErrDisabled: the server is turned off, see [Session.Enable].
	ErrDisabled = errors.New("disabled")

	// ErrUnreachable: the server could not be started or reached, or the
	// connection to it was lost.
	ErrUnreachable = hosterr.ErrUnreachable

	// ErrTimeout: the server did not answer in time.
	ErrTimeout = hosterr.ErrTimeout

	// ErrInputRequired: the server asks for input from a person, a model or a folder before it answers, and did
	// not get it.
	ErrInputRequired = session.ErrInputRequired

	// ErrProtocol: the server sent something that is no valid answer.
	ErrProtocol = hosterr.ErrProtocol

	// ErrNotSent: the request certainly did not reach the server.
	ErrNotSent = rpc.ErrNotSent
)

// RPCError is the error that a server answered in place of a result.
//
// Its fields:
//
//	Code    int
//	Message string
//	Data    json.RawMessage // may be nil
//	HTTP    int // the status of the response that it came in; 0 where it came otherwise
//	Wait    time.Duration // that this response asks for with Retry-After; 0 if it does not
//	Raw     json.RawMessage // the error as the server wrote it; nil for one that did not come from a server
type RPCError = rpc.Error

// PluginError says that a plugin was refused, trapped or ran out of budget.
//
// Its fields:
//
//	Plugin string
//	Op     string // what it was doing: "start", "DATA", "open"; "" where that does not matter
//	Err    error
//	Stderr string // the last lines it wrote to its standard error
type PluginError = guest.PluginError

// Hint says what to do about an error, in one line or a few. It returns "" if it has no advice.
func Hint(err error) string { return hosterr.Hint(err) }

// errorKinds are the kinds of errors, by the words for programs. If several fit, the first counts: a cause
// comes before its consequence.
var errorKinds = []struct {
	err  error
	word string
}{
	{ErrUnknownTransport, "unknown_transport"},
	{ErrLogin, "sign_in_needed"},
	{ErrDenied, "denied"},
	{ErrAuthRequired, "sign_in_needed"},
	{ErrConfig, "configuration"},
	{ErrPluginRefused, "plugin_refused"},
	{ErrDisabled, "disabled"},
	{ErrUnsupported, "unsupported"},
	{ErrInputRequired, "input_required"},
	{ErrProtocol, "protocol"},
	{ErrTimeout, "timeout"},
	{context.DeadlineExceeded, "timeout"},
	{ErrUnreachable, "unreachable"},
	{ErrClosed, "unreachable"},
}

// ErrorKind returns the kind of an error as a word for programs, such as "unreachable". It is
// "server_error" for what a server answered, and "internal" for what is none of these. Words are added,
// and never renamed or removed.
func ErrorKind(err error) string {
	for _, k := range errorKinds {
		if errors.Is(err, k.err) {
			return k.word
		}
	}
	switch {
	case errors.As(err, new(*RPCError)): // also of a handshake, so that no request of a caller was sent
		return "server_error"
	case errors.Is(err, ErrNotSent):
		return "unreachable"
	}
	return "internal"
}

// Withheld returns the names of the variables that a server said it needs when it failed to
// start, if this process has them and the server's entry does not name them.
func Withheld(err error) []string {
	var start *connect.StartError
	if !errors.As(err, &start) {
		return nil
	}
	return start.Cause.Withheld
}

// Reached says how far the start of a server over HTTP came that took too long: whether a connection
// was made, and whether its TLS handshake was done, where there is one. It is false for other errors.
func Reached(err error) (connected, secured bool) {
	var start *connect.StartError
	if !errors.As(err, &start) {
		return false, false
	}
	return start.Reach >= capability.Connected, start.Reach >= capability.Ready
}

// Unoffered returns the capabilities of a client that a server asks for and that this one does not declare, such as
// "elicitation". It returns nil if that is not why err happened.
func Unoffered(err error) (names []string) {
	var asked *session.UnansweredError
	var no *rpc.Error
	switch {
	case errors.As(err, &asked) && mcp.CapabilityFor(asked.Method) != "":
		return []string{mcp.CapabilityFor(asked.Method)}
	case errors.As(err, &no) && no.Code == mcp.CodeMissingClientCapability:
		return session.Required(no)
	}
	return nil
}

// explain adds the kind and the hint to an error that the packages below return.
func explain(server string, err error) error {
	if err == nil { // returns before anything escapes to the heap: every good call passes here
		return nil
	}
	var sorted *hosterr.Error
	var no *rpc.Error
	if hint, kind := refused(err); kind != nil {
		return &hosterr.Error{Kind: kind, Err: err, Hint: hint}
	}
	if errors.As(err, &no) {
		return err
	}
	if errors.As(err, &sorted) {
		return &hosterr.Error{Kind: sorted.Kind, Err: err, Hint: sorted.Hint}
	}
	for _, judge := range []func(string, error) (hint string, kind error){denied, unanswered, broken, lost} {
		if hint, kind := judge(server, err); kind != nil {
			return &hosterr.Error{Kind: kind, Err: err, Hint: hint}
		}
	}
	return err
}

// refused returns the hint and the kind of an error that says why there is no connection now.
// The kind is nil for any other error. It is also nil if no connection is made because of an
// earlier error: then the kind of the earlier error counts.
func refused(err error) (hint string, kind error) {
	var r *manager.UnavailableError
	if !errors.As(err, &r) {
		return "", nil
	}
	switch r.Reason {
	case status.Closed:
		return "", ErrClosed
	case status.TurnedOff:
		return "it is disabled in its entry, or was turned off by this program", ErrDisabled
	case status.FailsOften:
		return "calls fail at once while it rests. " +
			"It is tried again by itself, and at once when its entry changes", ErrUnreachable
	}
	return "", nil
}

// denied returns the hint and the kind of an error about something that the user did not allow.
func denied(server string, err error) (hint string, kind error) {
	var denial *capability.Denial
	var refusal *httpclient.Refusal
	var failed *auth.Error
	var said *guest.StatusError
	switch {
	case errors.As(err, &denial):
		return fmt.Sprintf("to grant it, write in your configuration:\n[servers.%s]\n%s", hosterr.TOMLKey(server), denial.Line()), ErrDenied
	case errors.As(err, new(*auth.SettingsError)):
		return "look at auth in the entry of " + server, ErrConfig
	case errors.As(err, &refusal) && refusal.Basic():
		return "it wants Basic, a name and a password: write auth, or headers with Authorization, in the entry of " + server, ErrAuthRequired
	case errors.As(err, &refusal) && len(refusal.Keys) > 0:
		read := ""
		if refusal.Reread {
			read = ", which was read just now: put a valid one where its entry leads"
		}
		hint = fmt.Sprintf("the server refuses what the headers of %s give for %s%s; if it wants a sign-in in its place: wharf login %[1]s", server, strings.Join(refusal.Keys, ", "), read)
		if refusal.HTTP == 403 {
			return hint, ErrDenied
		}
		return hint, ErrAuthRequired
	case errors.As(err, &failed):
		hint, kind = unsigned(server, failed)
		if kind == ErrLogin && refusal != nil && refusal.HTTP == 403 && refusal.Signed {
			kind = fmt.Errorf("%w: %w", kind, &signin.RightsError{Scope: refusal.Scope()})
		}
		return hint, kind
	case errors.As(err, &refusal):
		return unmet(server, refusal)
	case errors.As(err, &said) && said.Status == abi.Unauthorized:
		return "", ErrAuthRequired // the plugin knows what to do, and has said so
	case errors.As(err, &said) && said.Status == abi.Malformed && said.HTTP == 0:
		return "look at the entry of " + server + ", and at its settings", ErrConfig
	}
	return "", nil
}

// unmet returns the hint and the kind of a refusal to which no provider had an answer. A 403
// that asks for no credentials is a denial.
func unmet(server string, r *httpclient.Refusal) (hint string, kind error) {
	switch {
	case r.HTTP == 401 && r.Err == nil && r.Signed:
		return "the server does not take the credentials that it was sent: look at auth in the entry of " + server +
			", or sign in anew with: wharf login " + server, ErrLogin
	case r.HTTP == 401 && r.Err == nil && r.Configured && r.Reread:
		return "the server does not take the Authorization in the headers of " + server + ", which was read just now: put a valid one where its entry leads", ErrAuthRequired
	case r.HTTP == 401 && r.Err == nil && r.Configured:
		return "the server does not take the Authorization in the headers of " + server + ": look at its entry", ErrAuthRequired
	}
	if r.HTTP == 403 && len(r.Challenges) == 0 && r.AuthServer == "" && r.Err == nil {
		if r.Signed {
			return "the server denies it to the credentials that it was sent; to sign in with others: wharf login " + server, ErrDenied
		}
		if r.Configured {
			return "those credentials may lack a right, or be those of another account", ErrDenied
		}
		return "it names no way to sign in; if you have credentials for it, write auth or headers in its entry", ErrDenied
	}
	return "nothing signs in to this server: write auth or headers in its entry, if you have credentials for it", ErrAuthRequired
}

// unsigned returns the hint and the kind of the error of a provider that has no credentials.
func unsigned(server string, e *auth.Error) (hint string, kind error) {
	switch e.Class {
	case step.FailRetry:
		return e.Hint, ErrUnreachable
	case auth.Broken:
		return e.Hint, ErrDenied
	case step.FailLogin:
		return cmp.Or(e.Hint, "sign in with: wharf login "+server), ErrLogin
	}
	return e.Hint, ErrAuthRequired
}

// unanswered returns the hint and the kind of an error about what a server asked for.
func unanswered(_ string, err error) (hint string, kind error) {
	if !errors.Is(err, ErrInputRequired) {
		return "", nil
	}
	if names := Unoffered(err); names != nil {
		hint = "it needs a client that offers " + strings.Join(names, ", ")
	}
	return hint, ErrInputRequired
}

// broken returns the hint and the kind of an error that a plugin caused.
func broken(_ string, err error) (hint string, kind error) {
	var p *guest.PluginError
	var said *guest.StatusError
	var trap *wasm.Trap
	switch {
	case errors.As(err, &trap):
		return "the plugin was stopped, and the connection with it; WHARF_TRACE=abi shows what it did", ErrUnreachable
	case errors.As(err, &p) && errors.As(p.Err, &said) && said.Text != "":
		return "", ErrUnreachable // the plugin says more than a trace would
	case errors.As(err, &p):
		return "WHARF_TRACE=abi shows what passed between the plugin and the host", ErrUnreachable
	}
	return "", nil
}

// lost returns the hint and the kind of an error about a lost connection or a reached limit.
func lost(server string, err error) (hint string, kind error) {
	var ended *guest.EndedError
	var call *rpc.CallError
	var start *connect.StartError
	var said *guest.StatusError
	switch {
	case errors.As(err, &start) && (errors.Is(err, rpc.ErrTimeout) || errors.Is(err, context.DeadlineExceeded)):
		return start.Cause.Hint, ErrTimeout
	case errors.As(err, &start):
		return start.Cause.Hint, ErrUnreachable
	case errors.Is(err, session.ErrEcho):
		return "the command starts something that copies its input, such as cat: name the program that is the server", ErrProtocol
	case errors.Is(err, rpc.ErrTooBig):
		return fmt.Sprintf("a message may have %d MiB where its entry says nothing; to allow more, "+
			`write message_cap = "64MiB" under [servers.%s]`, connect.DefaultMessageCap>>20, hosterr.TOMLKey(server)), ErrProtocol
	case errors.Is(err, session.ErrLongest):
		return `a call that takes longer needs max_timeout = "3h" in its entry, or more`, ErrTimeout
	case errors.Is(err, rpc.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return `a slow server gets longer with timeout = "2m" in its entry`, ErrTimeout
	case errors.As(err, &ended):
		return "", ErrUnreachable
	case errors.Is(err, session.ErrClosed), errors.Is(err, guest.ErrClosed), errors.Is(err, wasm.ErrClosed):
		return "", ErrClosed
	case errors.Is(err, context.Canceled), errors.Is(err, rpc.ErrParams):
		return "", nil
	case errors.Is(err, session.ErrInvalidResult):
		return "", ErrProtocol
	case errors.As(err, &call) && call.Sent == rpc.Answered:
		return "", ErrProtocol
	case errors.As(err, &said) && said.Status == abi.ProtocolFailed && said.HTTP >= 200 && said.HTTP < 300:
		return "", ErrProtocol // it answered with what is no message
	case errors.Is(err, rpc.ErrClosed), errors.As(err, &call):
		return "", ErrUnreachable
	}
	return "", nil
}
