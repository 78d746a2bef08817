package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/wharf-mcp/wharf/host"
)

// Exit codes. They are part of what the program promises.
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2 // the command line or the configuration
	exitSignIn      = 3
	exitUnreachable = 4 // or timed out
	exitServer      = 5 // the tool or the server answered with an error, or a plugin differs
	exitDenied      = 6
	exitInterrupted = 130
	exitUnread      = 141 // as shells see the end of a program by SIGPIPE
)

// usageError is an error of the person at the keyboard, or in the files that
// they wrote. hint says what to do; it may be empty.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usage marks err as the person's own, with a hint.
func usage(err error, hint string, args ...any) error {
	return &usageError{err, fmt.Sprintf(hint, args...)}
}

// hinted is an error with a hint that the command has found.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// toolError is a call that arrived and did not succeed: the result, which has
// been printed, says that it is an error.
type toolError struct {
	server, tool string
}

func (e *toolError) Error() string {
	return fmt.Sprintf("call %s: tool %q answered with an error", e.server, e.tool)
}

// ending is a kind of end: its exit code, and its name in the error line for
// programs.
type ending struct {
	exit int
	name string
}

// endingOf finds the kind of an error. Where several fit, what the person did
// counts more than what came of it.
func endingOf(ctx context.Context, err error) ending {
	var wrong *usageError
	var failed *toolError
	var answer *host.RPCError
	switch {
	case errors.Is(context.Cause(ctx), errInterrupted):
		return ending{exitInterrupted, "interrupted"}
	case errors.As(err, &wrong):
		return ending{exitUsage, "usage"}
	case errors.As(err, &failed):
		return ending{exitServer, "tool_error"}
	case errors.As(err, new(*differentError)):
		return ending{exitServer, "different"}
	case errors.Is(err, host.ErrUnknownTransport):
		return ending{exitUsage, "unknown_transport"}
	case errors.Is(err, host.ErrDenied):
		return ending{exitDenied, "denied"}
	case errors.Is(err, host.ErrAuthRequired):
		return ending{exitSignIn, "sign_in_needed"}
	case errors.Is(err, host.ErrConfig):
		return ending{exitUsage, "configuration"}
	case errors.Is(err, host.ErrPluginRefused):
		return ending{exitDenied, "plugin_refused"}
	case errors.As(err, &answer):
		return ending{exitServer, "server_error"}
	case errors.Is(err, host.ErrUnsupported):
		return ending{exitServer, "unsupported"}
	case errors.Is(err, host.ErrProtocol):
		return ending{exitServer, "protocol"}
	case errors.Is(err, host.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return ending{exitUnreachable, "timeout"}
	case errors.Is(err, host.ErrUnreachable), errors.Is(err, host.ErrClosed), errors.Is(err, host.ErrNotSent):
		return ending{exitUnreachable, "unreachable"}
	case errors.As(err, new(*outputError)):
		return ending{exitInternal, "output"}
	case errors.As(err, new(*fs.PathError)):
		return ending{exitUsage, "file"} // one that the configuration names
	}
	return ending{exitInternal, "internal"}
}

// hintOf returns what to do about err, or "".
func hintOf(err error) string {
	var wrong *usageError
	if errors.As(err, &wrong) && wrong.hint != "" {
		return wrong.hint
	}
	var found *hinted
	if errors.As(err, &found) {
		return found.hint
	}
	if hint := host.Hint(err); hint != "" || !errors.Is(err, host.ErrPluginRefused) {
		return hint
	}
	return "`wharf plugin inspect FILE` says everything that is wrong with it"
}

// reachable says in a hint how a server is really named that has no entry: the
// host knows it by the name of its machine alone.
func (a *app) reachable(hint string) string {
	if a.address == "" {
		return hint
	}
	return strings.ReplaceAll(hint, "wharf login "+a.server, "wharf login "+a.address)
}

// report tells stderr how the program ended, and returns the exit code. Where the
// reader of stdout went away, as `head` does, it ends as others do, by SIGPIPE:
// without words.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	end := endingOf(ctx, err)
	if errors.Is(err, syscall.EPIPE) && errors.As(err, new(*outputError)) {
		return exitUnread
	}
	message, hint := err.Error(), a.reachable(hintOf(err))
	if a.redact != nil {
		message, hint = a.redact(message), a.redact(hint)
	}
	if end.exit == exitInterrupted {
		message, hint = errInterrupted.Error(), ""
	}
	fmt.Fprintln(a.err, a.styled(a.errTTY, styleRed, "error:"), plain(message))
	if hint != "" {
		fmt.Fprintln(a.err, a.styled(a.errTTY, styleBold, "hint:"), plain(hint))
	}
	if a.flags.json {
		a.reportJSON(end, message, hint, err)
	}
	return end.exit
}

// reportJSON writes the error for programs: one line, the last on stderr.
func (a *app) reportJSON(end ending, message, hint string, err error) {
	type details struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Server  string `json:"server,omitempty"`
		Hint    string `json:"hint,omitempty"`
		URL     string `json:"url,omitempty"`  // where one would sign in
		Sent    string `json:"sent,omitempty"` // of a call without an answer: no, or maybe
	}
	sent := ""
	switch {
	case errors.Is(err, host.ErrNotSent):
		sent = "no"
	case host.MaybeSent(err):
		sent = "maybe"
	}
	encoder := json.NewEncoder(a.err)
	encoder.SetEscapeHTML(false)
	encoder.Encode(map[string]details{"error": {end.name, message, a.server, hint, host.SignInURL(err), sent}})
}
