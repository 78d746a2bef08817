package auth

import (
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Broken is the class of an [Error] beside those of step.Fail: the provider did
// not keep to the contract, asked for what it was not granted, or stopped. Only
// another version of it, or another grant, can help.
const Broken = "broken"

// Error is why there are no credentials. errors.As finds it in what an exchange
// fails with.
type Error struct {
	Provider string // its name
	Class    string // step.FailRetry, step.FailLogin, step.FailConfig or Broken
	Message  string
	Hint     string // what to do; may be ""
	URL      string // where a person would sign in, if that is known
	Err      error  // the cause, where it is not the provider's word; may be nil
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("auth provider %s: %s", e.Provider, e.Message)
	}
	return fmt.Sprintf("auth provider %s: %s: %v", e.Provider, e.Message, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// breach is a broken contract, before it is known whose.
type breach string

func (b breach) Error() string { return string(b) }

func breachf(format string, args ...any) error { return breach(fmt.Sprintf(format, args...)) }

// blame makes the error of a flow. An *Error is passed on as it is.
func blame(provider, doing string, err error) error {
	var known *Error
	var broken breach
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
