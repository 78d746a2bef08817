// Package signin is what a sign-in asks of a person, and how a program passes that on.
package signin

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/egress"
)

// Person leads to the person who uses a program. What a program cannot do is nil: a
// provider that needs it is told so, and may know another way. The functions may be
// called from any goroutine, and return when their context ends. A provider or a server
// chose the texts, which were cleaned.
type Person struct {
	// OpenURL shows a page: in a browser, for which [OpenBrowser] is there, or by its
	// address. It may return at once, or stay for the address that the browser ends
	// at, see [Page]. An error says that the page was not shown, and [ErrDeclined]
	// that the person does not want it.
	OpenURL func(ctx context.Context, p Page) error

	// Ask asks for a text, often a secret one. [ErrDeclined] says that the person
	// gives none.
	Ask func(ctx context.Context, q Question) (string, error)

	// ShowCode shows a code and where to type it, until ctx ends. It returns at once.
	ShowCode func(ctx context.Context, c Code)
}

// Page is a page at which a person signs in.
type Page struct {
	Provider, Server string
	URL              string // https, or http on this machine; it contains nothing that a shell interprets

	// Paste takes the address that a browser was sent to, for a person whose browser
	// cannot reach the callback. An error says what is wrong with it; another may
	// be tried.
	Paste func(address string) error
}

// Question asks a person for a text.
type Question struct {
	Provider, Server string
	Label, Hint      string
	Secret           bool // what is typed must not be shown
	Refused          bool // the server refuses what was saved of an earlier sign-in
}

// Code is a text for a person to type at a page.
type Code struct {
	Provider, Server string
	URL, Code        string
	Complete         string // a URL with the code in it; may be ""
}

// ErrDeclined is the error of a person who does not want to sign in.
var ErrDeclined error = &step.Problem{Code: step.ProblemCancelled, Text: "the person declined"}

// What a server refuses, for errors.Is. A person has to sign in again.
var (
	// ErrSavedRefused: the credentials that were saved of an earlier sign-in.
	ErrSavedRefused = errors.New("the server refuses what was saved of a sign-in")

	// ErrTypedRefused: those that came of a secret which the person has just typed. They
	// were not stored, and what was saved before is.
	ErrTypedRefused = errors.New("the server refuses what was typed")
)

// OpenBrowser shows a page in the person's browser, and does not wait for it. It
// serves as [Person.OpenURL] of a program at a terminal.
func OpenBrowser(ctx context.Context, url string) error { return egress.OpenBrowser(ctx, url) }
