package auth

import (
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/extism"
)

// Broken is a class of [Error] in addition to those of step.Fail: the provider violated the
// contract, asked for something that is not granted, or trapped. Only another version of the
// provider, or another grant, can help.
const Broken = "broken"

// Error says why there are no credentials. errors.As finds it in the error of an exchange.
type Error struct {
	Provider string // its name
	Class    string // step.FailRetry, step.FailLogin, step.FailConfig or Broken
	Message  string
	Hint     string // what to do about it; may be ""
	URL      string // where a person could sign in; "" if unknown
	Err      error  // the cause; nil if the provider itself reported the error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("auth provider %s: %s", e.Provider, e.Message)
	}
	return fmt.Sprintf("auth provider %s: %s: %v", e.Provider, e.Message, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// NeedsLogin reports whether only a sign-in of a person gives credentials.
func (e *Error) NeedsLogin() bool { return e.Class == step.FailLogin }

// SettingsError says that a server entry does not fit its provider. errors.As finds it in an
// [Error]. It holds no value of the entry.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// errClosed is the error of an Engine or an Account after its Close.
var errClosed = extism.ErrClosed

// violation describes a violation of the contract, without the name of the provider.
type violation = extism.Violation

func violationf(format string, args ...any) error { return extism.Violationf(format, args...) }

// refused is a violation that a grant of the user can end; the hint says how.
type refused struct{ text, hint string }

func (r *refused) Error() string { return r.text }

// ungranted returns the error for something that the server entry does not grant. line is the line
// that would grant it.
func ungranted(what, line string) error {
	return &refused{what + " is not granted", "to grant it, write in auth of the server: " + line}
}

// unavailable returns the problem of an action that this host, or this flow, cannot perform.
func unavailable(text string) error { return &step.Problem{Code: step.ProblemUnavailable, Text: text} }

// blame returns the error of a flow that a provider caused. It returns an *Error unchanged.
func blame(provider, doing string, err error) error {
	var known *Error
	var broken violation
	var closed *refused
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &broken):
		return &Error{Provider: provider, Class: Broken, Message: doing, Err: err}
	case errors.As(err, &closed):
		return &Error{Provider: provider, Class: Broken, Message: doing, Hint: closed.hint, Err: err}
	}
	return &Error{Provider: provider, Class: step.FailRetry, Message: doing, Err: err}
}
