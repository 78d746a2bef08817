package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// ownPath returns the path of the configuration that commands change: the file of --config,
// or else the user's own, which need not exist.
func (a *app) ownPath() (string, error) {
	if a.flags.config != "" {
		return a.flags.config, nil
	}
	path, err := config.UserPath()
	if err != nil {
		return "", exit.WithHint(exit.Configuration(err), nameConfiguration)
	}
	return path, nil
}

// keeping returns the entries for which secrets and bundles are kept when an entry of a file is removed or
// replaced: those of that file and of the user's own, which may mean the same with --config.
func (a *app) keeping(f *tomledit.File) ([]host.Server, error) {
	path, err := config.UserPath()
	if err != nil || path == f.Path { // without a folder for it there is no own file
		return f.Read.Servers, nil
	}
	own, err := tomledit.Open(path)
	if err != nil {
		return nil, exit.Configuration(fmt.Errorf("configuration: %w", err))
	}
	return slices.Concat(f.Read.Servers, own.Read.Servers), nil
}

// ownFile opens the configuration that commands change.
func (a *app) ownFile() (*tomledit.File, error) {
	path, err := a.ownPath()
	if err != nil {
		return nil, err
	}
	f, err := tomledit.Open(path)
	if err != nil {
		return nil, exit.Configuration(fmt.Errorf("configuration: %w", err))
	}
	return f, nil
}

// writeChange writes a change of the configuration, with merge also into one that was changed since.
func writeChange(ctx context.Context, change *amend.Change, merge bool) error {
	if merge {
		return notWritten(ctx, change.Merge(ctx))
	}
	return notWritten(ctx, change.Write(ctx))
}

// notWritten says what to do where the configuration was not written.
func notWritten(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.As(err, new(*fs.PathError)) {
		return err
	}
	return unfit(fmt.Errorf("configuration: %w", err))
}

// unfit is the error of a change that does not fit the configuration as it is.
func unfit(err error) error {
	var taken *amend.TakenError
	if errors.As(err, &taken) {
		return exit.Usage(taken, "--name gives this one another name; `wharf remove %s` removes the other, and --replace does both", taken.Name)
	}
	return exit.Usage(err, "")
}

// agreeTo prints what stands above, and asks the person to agree to it. With yes it
// does not ask. Without a terminal it returns an error unless yes is set.
func (a *app) agreeTo(ctx context.Context, above, prompt string, yes bool) error {
	fmt.Fprint(a.Err, above)
	no := fmt.Errorf("you have not agreed to it: %w", host.ErrDenied)
	switch {
	case yes:
		return nil
	case !a.CanAsk():
		return exit.WithHint(no, "there is no terminal to ask at; to agree to what is shown, add --yes")
	}
	return a.consent(ctx, term.Question{Prompt: prompt, Consent: true}, no)
}

// consent opens a dialog and asks. It returns nil if the person says yes, and no if they say no or
// decline.
func (a *app) consent(ctx context.Context, q term.Question, no error) error {
	switch answer, err := a.answerTo(ctx, q, "y", "yes", "n", "no"); {
	case err != nil:
		return err
	case answer != "y" && answer != "yes":
		return no
	}
	return nil
}

// answerTo opens a dialog and asks. It returns the answer in small letters. It returns "" if the
// person declines, presses Enter alone, or has typed maxUnclear words that are not in answers. After
// each such word but the last it asks again, so that a slip does not lose what the person has typed
// for an earlier question.
func (a *app) answerTo(ctx context.Context, q term.Question, answers ...string) (string, error) {
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	for range maxUnclear {
		text, err := a.Ask(ctx, q)
		if errors.Is(err, term.ErrDeclined) || errors.Is(err, term.ErrCancelled) {
			return "", nil
		}
		answer := strings.ToLower(strings.TrimSpace(text))
		if err != nil || answer == "" || slices.Contains(answers, answer) {
			return answer, err
		}
		q.Above = a.Own("That is no answer to this question.")
	}
	return "", nil
}

// changed is how the JSON output shows what was done to an entry.
type changed struct {
	Name  string   `json:"name"`
	File  string   `json:"file"`
	State string   `json:"state"` // "added", "removed", "current", "updated"
	From  string   `json:"from,omitempty"`
	To    string   `json:"to,omitempty"`    // the version in the registry
	Needs []string `json:"needs,omitempty"` // variables of the environment

	Problem string `json:"problem,omitempty"` // of what was added or updated: why it is not ready
}
