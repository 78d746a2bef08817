// Package registry finds MCP servers in a registry and says how to run them. It reads the
// official registry at [Official], and others with the same API, version 0.1
// (https://registry.modelcontextprotocol.io/docs).
//
// A [Client] asks the registry. What it returns describes a server (server.json, as in
// https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json). An
// [Option] is one of the ways to run it, with the [Input]s that a person has to give,
// and becomes an entry of the configuration by [Option.Entry]. [Merge] brings an entry
// to another version of its server and keeps what the user changed in it.
//
// The package trusts nothing that a registry says. Answers are bounded in bytes, number and
// time. A name of a package cannot become an option of the program that runs it. A dollar sign
// in a text of the registry never becomes a reference to a variable or a secret. The resulting
// command line is for a person to see and approve.
package registry

import (
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// Official is the address of the official registry.
const Official = "https://registry.modelcontextprotocol.io"

func configError(hint, format string, args ...any) error {
	return hosterr.Errorf(hosterr.ErrConfig, hint, format, args...)
}

func denied(hint, format string, args ...any) error {
	return hosterr.Errorf(hosterr.ErrDenied, hint, format, args...)
}

// protocolError returns the error for an answer that does not fit the registry's API.
func protocolError(format string, args ...any) error {
	return &hosterr.Error{Kind: hosterr.ErrProtocol, Err: fmt.Errorf(format, args...)}
}

var errTooMuch = errors.New("it is larger than any description of a server")
