package auth

import (
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Broken is a class of [Error] in addition to those of step.Fail: the provider violated the
// contract, asked for something that it is not granted, or trapped. Only another version of
// the provider, or another grant, can help.
const Broken = "broken"

// Error says why there are no credentials. errors.As finds it in the error of an exchange.
type Error struct {
	Provider string // its name
	Class    string // step.FailRetry, step.FailLogin, step.FailConfig or Broken
	Message  string
	Hint     string // what to do about it; may be ""
	URL      string // where a person could sign in; "" if that is not known
	Err      error  // the cause; nil if the provider itself reported the error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("auth provider %s: %s", e.Provider, e.Message)
	}
	return fmt.Sprintf("auth provider %s: %s: %v", e.Provider, e.Message, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// SettingsError says that a server entry does not fit the provider that it names.
// errors.As finds it in an [Error]. No value is in it.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// errClosed is the error of using an Engine or an Account after its Close.
var errClosed = errors.New("closed")

// violation is a violation of the contract, before the provider is named.
type violation string

func (v violation) Error() string { return string(v) }

func violationf(format string, args ...any) error { return violation(fmt.Sprintf(format, args...)) }

// refused is a violation that the user can end by a grant; the hint says how.
type refused struct{ text, hint string }

func (r *refused) Error() string { return r.text }

// ungranted is the error of what the server entry does not allow; line is what
// allows it.
func ungranted(what, line string) error {
	return &refused{what + " is not granted", "to grant it, write in auth of the server: " + line}
}

// unavailable is the problem of an action that this host, or this flow, cannot do.
func unavailable(text string) error { return &step.Problem{Code: step.ProblemUnavailable, Text: text} }

// blame returns the error of a flow that a provider caused. An *Error is returned as it is.
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
