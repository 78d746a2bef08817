// Package exit decides how the program ends: its exit codes, the kind of each error, the hints
// that go with errors, and the signals that interrupt it.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/wharf-mcp/wharf/host"
)

// ErrInterrupted is the cause of a context that a signal has ended.
var ErrInterrupted = errors.New("interrupted")

// Exit codes. The program promises them.
const (
	CodeOK          = 0
	CodeInternal    = 1
	CodeUsage       = 2 // the command line or the configuration
	CodeSignIn      = 3
	CodeUnreachable = 4 // or timed out
	CodeServer      = 5 // the tool or the server answered with an error, or a plugin differs
	CodeDenied      = 6
	CodeInterrupted = 130
	CodeUnread      = 141 // the reader of stdout went away; shells see the end of a program by SIGPIPE so
)

// Kind is a kind of end: its exit code, and its name in the error line for programs.
type Kind struct {
	Code int
	Name string
}

// Kinder is an error that knows how it ends the program.
type Kinder interface {
	error
	ExitKind() Kind
}

// KindOf returns the kind of an error. If several fit, the kind of the cause takes precedence
// over that of the consequence.
func KindOf(ctx context.Context, err error) Kind {
	var own Kinder
	var answer *host.RPCError
	switch {
	case errors.Is(context.Cause(ctx), ErrInterrupted):
		return Kind{CodeInterrupted, "interrupted"}
	case errors.As(err, &own):
		return own.ExitKind()
	case errors.Is(err, host.ErrUnknownTransport):
		return Kind{CodeUsage, "unknown_transport"}
	case errors.Is(err, host.ErrDenied) && !errors.Is(err, host.ErrLogin): // some servers deny with 403 what another key may do
		return Kind{CodeDenied, "denied"}
	case errors.Is(err, host.ErrAuthRequired):
		return Kind{CodeSignIn, "sign_in_needed"}
	case errors.Is(err, host.ErrConfig):
		return Kind{CodeUsage, "configuration"}
	case errors.Is(err, host.ErrPluginRefused):
		return Kind{CodeDenied, "plugin_refused"}
	case errors.As(err, &answer):
		return Kind{CodeServer, "server_error"}
	case errors.Is(err, host.ErrUnsupported):
		return Kind{CodeServer, "unsupported"}
	case errors.Is(err, host.ErrInputRequired):
		return Kind{CodeServer, "input_required"}
	case errors.Is(err, host.ErrProtocol):
		return Kind{CodeServer, "protocol"}
	case errors.Is(err, host.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return Kind{CodeUnreachable, "timeout"}
	case errors.Is(err, host.ErrUnreachable), errors.Is(err, host.ErrClosed), errors.Is(err, host.ErrNotSent):
		return Kind{CodeUnreachable, "unreachable"}
	case errors.As(err, new(*fs.PathError)):
		return Kind{CodeUsage, "file"} // one that the configuration names
	}
	return Kind{CodeInternal, "internal"}
}

// usageError is an error in the command line, or in files that the user wrote. The
// hint may be empty.
type usageError struct {
	err           error
	hint          string
	configuration bool // it is in the configuration
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) ExitKind() Kind {
	if e.configuration {
		return Kind{CodeUsage, "configuration"}
	}
	return Kind{CodeUsage, "usage"}
}

// Usage marks err as an error in something that the user wrote, with a hint of what to do.
func Usage(err error, hint string, args ...any) error {
	return &usageError{err, fmt.Sprintf(hint, args...), false}
}

// Configuration marks err as an error in what the configuration says.
func Configuration(err error) error { return &usageError{err, "", true} }

// IsUsage reports whether an error was marked by [Usage] or [Configuration].
func IsUsage(err error) bool { return errors.As(err, new(*usageError)) }

// hinted is an error with a hint that the command has found.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// WithHint adds a hint to err, and leaves its kind as it is.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

// several is the error of several things, with the hints of all of them.
type several struct {
	error
	hint string
}

func (e *several) Unwrap() error { return e.error }

// HintOf returns the hint of err, or "". That of several [Failures] takes precedence over one from [Usage], that over
// one from [WithHint], and that over the host's.
func HintOf(err error) string {
	var all *several
	if errors.As(err, &all) {
		return all.hint
	}
	var wrong *usageError
	if errors.As(err, &wrong) && wrong.hint != "" {
		return wrong.hint
	}
	var found *hinted
	if errors.As(err, &found) {
		return found.hint
	}
	hint := host.Hint(err)
	if errors.Is(err, host.ErrTimeout) { // the host knows no flags
		hint = strings.Replace(hint, " gets longer with ", " gets longer with --timeout, or with ", 1)
	}
	if hint != "" || !errors.Is(err, host.ErrPluginRefused) {
		return hint
	}
	return "`wharf plugin inspect FILE` says everything that is wrong with it"
}
