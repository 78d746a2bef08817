package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Kind is the way on which a call comes.
type Kind string

// The kinds of callers.
const (
	Command Kind = "command" // a person or a script that runs the program
	Bridge  Kind = "bridge"  // a client that reaches one server as it is
	Gateway Kind = "gateway" // a client of all servers as one, or over HTTP
	Control Kind = "control" // an editor that speaks the control protocol
)

// Caller is who calls.
type Caller struct {
	Kind Kind

	// Name is how the client names itself, which nothing proves: a rule about it keeps a client that
	// errs from what it should not do, and no client that lies.
	Name string

	// Principal is who has proven to be there; "" is the user who runs the program.
	Principal string

	// Peer is the address that the call comes from, and Era that of the protocol which the client
	// speaks; "" is not known. No rule is about them.
	Peer, Era string
}

// String returns the caller for people.
func (c *Caller) String() string {
	switch {
	case c.Principal != "":
		return fmt.Sprintf("the principal %q", c.Principal)
	case c.Name != "":
		return fmt.Sprintf("the client %q", c.Name)
	case c.Kind != "":
		return "the " + string(c.Kind)
	}
	return "the program"
}

type callerKey struct{} // holds the *Caller of a context

// WithCaller returns a context whose requests are those of a caller.
func WithCaller(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of a context, or nil.
func CallerOf(ctx context.Context) *Caller {
	c, _ := ctx.Value(callerKey{}).(*Caller)
	return c
}

// Target is the kind of a thing that a request is about.
type Target int

// The targets.
const (
	Other    Target = iota // a method that the protocol does not define; its name is that of the method
	Tool                   // by its name
	Prompt                 // by its name
	Resource               // by its URI, or by the text of a template
)

// Call is a request to a server, or, with Listed, something that a server lists. What a decider does not
// allow is not listed.
type Call struct {
	Caller *Caller
	Server string // the name of its entry
	Method string // of the request
	Target Target
	Name   string
	Listed bool

	// Arguments are the params of the request, an object, or nil if none are known.
	Arguments json.RawMessage

	// Annotations returns what the server says of a tool, an object, or nil if it says nothing. It may ask
	// the server. Annotations is nil if nothing can be known.
	Annotations func(context.Context) (json.RawMessage, error)
}

// String returns the call as a pattern names it.
func (c *Call) String() string {
	switch c.Target {
	case Tool:
		return c.Server + "/" + c.Name
	case Prompt:
		return "prompt:" + c.Server + "/" + c.Name
	case Resource:
		return "resource:" + c.Server + "/" + c.Name
	}
	return c.Server
}

// Decision is the answer to a call. The zero Decision denies it.
type Decision struct {
	Allow  bool
	Ask    bool   // it is denied unless a person who is asked allows it; it is listed
	Rule   string // names what has decided: `access.agents: deny "*/delete_*"`
	Reason string // for the person who runs the program; "" if Rule says enough
	Hint   string // what that person can do about it; "" is to look for the rule
}

// Question is whether a person lets a call go on.
type Question struct {
	*Call
	Rule   string // names what wants the person to be asked
	Reason string // of that
}

// String returns the question for a client that shows plain text. Each line begins with words of the
// program, so that what a policy says, and what a call contains, cannot be taken for the question.
func (q *Question) String() string {
	lines := []string{cleantext.Line(fmt.Sprintf("%s wants to call %s", q.Caller, q.Call), maxPart) + "."}
	rule := cleantext.Line(q.Rule, maxPart)
	if q.Reason != "" {
		lines = append(lines, rule+" says: "+cleantext.Line(q.Reason, maxPart))
	}
	if q.Arguments != nil {
		shown := cleantext.Cut(string(q.Arguments), maxArguments)
		line := "Its arguments: " + cleantext.Mask(cleantext.JSON(shown))
		if more := len(q.Arguments) - len(shown); more > 0 {
			line += fmt.Sprintf("… (%d bytes more)", more)
		}
		lines = append(lines, line)
	}
	return strings.Join(append(lines, "May it be called? (asked by "+rule+")"), "\n")
}

// Bounds of a question, in bytes.
const (
	maxPart      = 1 << 10 // of a line
	maxArguments = 512     // of the arguments that are shown
)

// Scope is how much of a server a caller may call.
type Scope int

// The scopes.
const (
	Nothing    Scope = iota
	Some             // each call is to be decided
	Everything       // no call has to be decided
)

// Decider decides on calls. Its methods may be called from any goroutine.
type Decider interface {
	// Scope returns how much of a server a caller may call. With Everything, Decide is not asked, and
	// requests are passed on without being read.
	Scope(c *Caller, server string) Scope

	// Decide decides on a call.
	Decide(ctx context.Context, c *Call) Decision
}
