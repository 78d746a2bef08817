package elicit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

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

	Sampler    []string // a command that answers for a model; with nil the person does
	Respondent []string // a command that fills in forms; with nil the person does

	Limit time.Duration // of a run of either; 0 waits for ever. A person takes the time they need

	limit               limit
	sampler, respondent answerer
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
		Above:  "\n" + a.Own("%s has asked you %d times or more within a minute, and asks again.", plain.Server(a.Server), manyQuestions),
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
		q.Above, q.Consent = a.Own("That is no answer to this question."), false // the question itself was read
	}
}

// declineUnasked declines a question of a server that was told to stop asking.
func (a *Asker) declineUnasked() (mcp.ElicitResult, error) {
	if n := a.limit.decline(); n > 0 {
		fmt.Fprint(a.Err, a.Own("note: %s has asked, and was declined, as you told it to stop (%d); this ends with the command.", plain.Server(a.Server), n))
	}
	return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}

// nameOf returns what the flag of an answerer is called.
func (a *Asker) nameOf(w *answerer) (name string, command []string) {
	if w == &a.sampler {
		return "sampler", a.Sampler
	}
	return "respondent", a.Respondent
}

// runAnswerer runs the command of an answerer with params on its stdin, and returns what it writes. The command is
// killed when ctx or the limit ends. The server learns only that it failed; the person is told why.
func (a *Asker) runAnswerer(ctx context.Context, w *answerer, params json.RawMessage) (json.RawMessage, error) {
	name, command := a.nameOf(w)
	if n := w.begun.Add(1); n > maxAnswers {
		if n == maxAnswers+1 {
			a.Warn("%s got %d answers of the %s, and gets no more of them from this command", plain.Server(a.Server), maxAnswers, name)
		}
		return nil, &host.RPCError{Code: codeRejected, Message: fmt.Sprintf("no more than %d answers are given", maxAnswers)}
	}
	done, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out, said bounded
	out.most, said.most = maxAnswer, 4<<10
	running := ctx
	if a.Limit > 0 {
		var cancel context.CancelFunc
		running, cancel = context.WithTimeout(ctx, a.Limit)
		defer cancel()
	}
	cmd := exec.CommandContext(running, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(params), &out, &said
	cmd.WaitDelay = childWait
	err = cmd.Run()
	switch {
	case err != nil && running.Err() != nil && ctx.Err() == nil:
		return nil, a.failed(w, fmt.Errorf("it took longer than the timeout of %v", a.Limit))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // with ErrWaitDelay it has succeeded, and what came is its answer
		if text := strings.TrimSpace(said.String()); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return nil, a.failed(w, err)
	case out.over:
		return nil, a.failed(w, fmt.Errorf("its answer is longer than %d MiB", maxAnswer>>20))
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// failed tells the person what is wrong with an answerer, or with its answer. It returns err.
func (a *Asker) failed(w *answerer, err error) error {
	name, command := a.nameOf(w)
	a.Warn("%s", plain.Line(fmt.Sprintf("%s %s: %v", name, command[0], err)))
	return err
}
