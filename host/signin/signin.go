// Package signin describes what a sign-in asks of a person, and how a program passes that on.
package signin

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Person gives access to the person who uses a program. A function that the program cannot offer
// is nil: a provider that needs it is told so, and may know another way. The functions may be
// called from any goroutine, and return when their context ends. Their texts come from a
// provider or a server, and are safe to show.
type Person struct {
	// Present reports whether the person may be asked because of a request with this context. If not, a
	// request that needs a sign-in fails without a question. With nil the person may always be asked.
	Present func(ctx context.Context) bool

	// OpenURL shows a page, in a browser or by its address. It may
	// return at once. It may also wait until the sign-in has sent the browser to its last address,
	// and pass that address to [Page].Paste. [ErrDeclined] says that the person does not want the
	// page; any other error says that it was not shown.
	OpenURL func(ctx context.Context, p Page) error

	// Ask asks for a text, often a secret one. [ErrDeclined] says that the person gives none.
	Ask func(ctx context.Context, q Question) (string, error)

	// ShowCode shows a code and where to type it. It may return at once, or show them until ctx ends.
	// [ErrDeclined] says that the person does not want to sign in; any other error says that the code was
	// not shown.
	ShowCode func(ctx context.Context, c Code) error
}

// Page is a page at which a person signs in.
type Page struct {
	Provider, Server string
	URL              string // https, or http on this machine; it contains nothing that a shell interprets

	// Paste takes the address that a browser was sent to, for a person whose browser cannot
	// reach the callback. An error says what is wrong with that address; the person may try
	// another.
	Paste func(address string) error
}

// Question asks a person for a text.
type Question struct {
	Provider, Server string
	Label, Hint      string
	Secret           bool   // what is typed must not be shown
	Refused          bool   // the server refuses the credentials that an earlier sign-in saved
	Said             string // what the server wrote when it refused a request, cleaned and clipped; may be ""
}

// Code is a text for a person to type at a page.
type Code struct {
	Provider, Server string
	URL, Code        string
	Complete         string // a URL with the code in it; may be ""
}

// ErrDeclined says that the person does not want to sign in.
var ErrDeclined error = &step.Problem{Code: step.ProblemCancelled, Text: "the person declined"}

// The errors that say which credentials a server refuses, for errors.Is. A person has to sign in
// again.
var (
	// ErrSavedRefused: the server refuses the credentials that an earlier sign-in saved.
	ErrSavedRefused = errors.New("the server refuses what was saved of a sign-in")

	// ErrTypedRefused: the server refuses the credentials from a secret that the person has just
	// typed. They were not stored; what was saved before stays.
	ErrTypedRefused = errors.New("the server refuses what was typed")
)

// RightsError says that the server takes the credentials, and wants more rights than they give. The
// next sign-in asks for what is missing, if the server has named it.
type RightsError struct {
	Scope string // that the server wants, cleaned; "" if it does not say
}

func (e *RightsError) Error() string {
	if e.Scope == "" {
		return "the sign-in does not give the rights for this"
	}
	return fmt.Sprintf("the sign-in does not give the right for this: %q", e.Scope)
}
