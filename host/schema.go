package host

import (
	"github.com/wharf-mcp/wharf/host/internal/schema"
	"github.com/wharf-mcp/wharf/host/internal/session"
)

// ArgumentError says that the arguments of a call do not fit the input schema of the tool, and
// that nothing was sent. It is an [ErrNotSent].
//
// The arguments are checked if the session has a current list of tools, see [Session.ListTools];
// the call does not ask for one. Checks fetch nothing, and are bounded. Values that they cannot
// decide about pass, with a warning.
//
// Its fields:
//
//	Tool   string
//	Faults []Fault // at least one; pointers begin at the arguments
//	More   int // how many others there are
type ArgumentError = session.ArgumentError

// ResultError says that the result of a tool does not fit its output schema. The tool has
// done its work, and Result is what it returned. It is an [ErrProtocol].
//
// Its fields:
//
//	Tool   string
//	Result *mcp.CallToolResult
//	Faults []Fault // at least one; pointers begin at the structured content
//	More   int // how many others there are
type ResultError = session.ResultError

// Fault is one mistake in arguments or in a result. It names places and properties, and never a
// value.
//
// Its fields:
//
//	Kind    Kind
//	Pointer string // to the place, RFC 6901; "" is the whole value
//	Want    string // such as "an integer"
//	Got     string // such as "a string of 5 characters"; "" where it adds nothing
//	Near    string // the name that was probably meant, for Missing and Unknown; or ""
type Fault = schema.Fault

// The kinds of faults with a name; see [Fault.Kind]. Any other is a value that does not fit.
const (
	FaultMissing = schema.Missing // a property that has to be there
	FaultUnknown = schema.Unknown // a property that must not be there
)
