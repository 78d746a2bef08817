// Package hosterr defines the errors that the host and its helper packages share: a kind, and a
// hint what to do. Package host publishes the kinds.
package hosterr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The kinds of errors that more than one package returns.
var (
	ErrClosed           = errors.New("closed")
	ErrConfig           = errors.New("configuration")
	ErrDenied           = errors.New("denied")
	ErrAuthRequired     = errors.New("sign-in required")
	ErrPluginRefused    = errors.New("plugin refused")
	ErrUnreachable      = errors.New("unreachable")
	ErrTimeout          = errors.New("timed out")
	ErrUnknownTransport = errors.New("unknown transport")
	ErrProtocol         = errors.New("protocol broken")
)

// Error adds a kind, and perhaps a hint, to an error. Its text is that of Err.
type Error struct {
	Kind error // a sentinel of this package or of package host, for errors.Is
	Err  error
	Hint string // what to do about it, in one line or a few; "" for none
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

// Errorf returns an error of a kind with a hint. The text comes last, as it may have arguments.
func Errorf(kind error, hint, format string, a ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, a...), Hint: hint}
}

// AddPlugin returns the hint for an entry that names a plugin which is not there: the command that installs one under that name,
// and the lines of a configuration that load one. The command has no --name if a shell would need quotes for the name.
func AddPlugin(name string) string {
	key, option := TOMLKey(name), ""
	if key == name && !strings.HasPrefix(name, "-") {
		option = " --name " + name
	}
	return fmt.Sprintf("`wharf plugin add FILE%s` installs one; or write in your configuration:\n[plugins.%s]\nfile = \"path/to/%s.wasm\"", option, key, name)
}

// TOMLKey returns a name as a configuration file spells it.
func TOMLKey(name string) string {
	if name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == "" {
		return name
	}
	return strconv.Quote(name)
}
