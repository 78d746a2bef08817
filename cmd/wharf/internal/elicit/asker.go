package elicit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Asker lets one server ask the person something, as long as the host of one command is open. It
// is safe for concurrent use; a person is asked one thing at a time.
type Asker struct {
	*term.Terminal
	Server      host.Server
	PrintsPages bool // the person opens pages, not the program

	Sampler []string // a command that answers for a model; with nil the person does

	limit    limit
	samplers samplerLimit
}

// errStopped says that the person wants no more questions of a server.
var errStopped = errors.New("the person wants no more questions")

// checkLimit asks the person whether to allow another question of a server that has asked many.
// It returns errStopped if they want no more. The caller holds the dialog.
func (a *Asker) checkLimit(ctx context.Context) error {
	if a.limit.isStopped() { // while this question waited for the dialog
		return errStopped
	}
	if !a.limit.count() {
		return nil
	}
	q := term.Question{
		Above:  "\n" + a.Own("%s has asked you %d times within a minute, and asks again.", plain.Server(a.Server), manyQuestions),
		Prompt: "Hear it? [y]es, [n]o, [s]top it from asking: ", Consent: true,
	}
	choice, err := a.choose(ctx, q, "stop")
	if choice == "stop" {
		a.limit.stop()
		return errStopped
	}
	return err
}

// choose asks the same question until the answer is "yes", "no", the word other, or the
// first letter of one of them, and returns that word. For "no" the error is
// term.ErrDeclined. If other is "", only yes and no are answers.
func (a *Asker) choose(ctx context.Context, q term.Question, other string) (string, error) {
	for {
		text, err := a.Ask(ctx, q)
		if err != nil {
			return "", err
		}
		text = strings.ToLower(strings.TrimSpace(text))
		switch {
		case text == "y" || text == "yes":
			return "yes", nil
		case text == "n" || text == "no":
			return "no", term.ErrDeclined
		case other != "" && (text == other || text == other[:1]):
			return other, nil
		}
		q.Consent = false // this is the same question again, and its text was read
	}
}

// declineUnasked declines a question of a server that was told to stop asking.
func (a *Asker) declineUnasked() (mcp.ElicitResult, error) {
	if n := a.limit.decline(); n > 0 {
		fmt.Fprint(a.Err, a.Own("note: %s has asked, and was declined, as you told it to stop (%d); this ends with the command.", plain.Server(a.Server), n))
	}
	return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}
