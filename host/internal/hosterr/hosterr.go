// Package hosterr has the errors that the host and the packages beside it share: what
// kind an error is of, and what to do about it. Package host publishes the kinds.
package hosterr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The kinds of errors that more than one package finds.
var (
	ErrClosed           = errors.New("closed")
	ErrConfig           = errors.New("configuration")
	ErrDenied           = errors.New("denied")
	ErrPluginRefused    = errors.New("plugin refused")
	ErrUnreachable      = errors.New("unreachable")
	ErrTimeout          = errors.New("timed out")
	ErrUnknownTransport = errors.New("unknown transport")
	ErrProtocol         = errors.New("protocol broken")
)

// Error gives an error a kind, and perhaps a hint. Its text is that of Err.
type Error struct {
	Kind error // for errors.Is: a sentinel of this package, or of package host
	Err  error
	Hint string // what to do about it, a line or a few; "" for nothing
}

func (e *Error) Error() string   { return e.Err.Error() }
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// Hint returns the hint of the outermost [Error] in err, or "".
func Hint(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}

// Configf returns an error of kind [ErrConfig].
func Configf(format string, a ...any) error {
	return &Error{Kind: ErrConfig, Err: fmt.Errorf(format, a...)}
}

// TOMLKey returns a name as it is written in a configuration.
func TOMLKey(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" {
		return name
	}
	return strconv.Quote(name)
}
