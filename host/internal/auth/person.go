package auth

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/signin"
)

// maxWait is the longest sleep of a provider.
const maxWait = 10 * time.Minute

// prompt asks the person for a text.
func (f *flow) prompt(ctx context.Context, a *step.Action) (*step.Event, error) {
	if err := f.needsPerson(); err != nil {
		return nil, err
	}
	if f.config.Person.Ask == nil {
		return nil, errNoCallback
	}
	text, err := f.config.Person.Ask(f.person, signin.Question{
		Provider: f.config.Name, Server: f.config.Server.Name,
		Label: cleantext.Line(a.Prompt.Label, 200), Hint: cleantext.Line(a.Prompt.Hint, 1<<10), Secret: a.Prompt.Secret, Refused: f.refused, Said: f.said,
	})
	if err != nil {
		return nil, f.personProblem(ctx, err)
	}
	typed := strings.TrimRight(text, "\r\n")
	if len(typed) > step.MaxRecord {
		return nil, &step.Problem{Code: step.ProblemRefused, Text: "what was typed is too long"}
	}
	if a.Prompt.Secret {
		f.trial.begin()
	}
	return &step.Event{Input: &step.Input{Text: typed}}, nil
}

// errNoCallback is the problem of a flow that needs a function which its [signin.Person] does not
// have.
var errNoCallback = unavailable("this program cannot do that")

// needsPerson returns a problem if the flow may not ask a person, and nil otherwise.
func (f *flow) needsPerson() error {
	if !f.start.Interactive || f.config.Person == nil {
		return unavailable("there is no person to ask")
	}
	return nil
}

// personProblem returns the problem that a provider gets when the person does not answer. The flow
// goes on without the person. If the flow itself has ended, personProblem returns the error of that
// end instead.
func (f *flow) personProblem(ctx context.Context, err error) error {
	why := context.Cause(f.person)
	var problem *step.Problem
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(why, context.DeadlineExceeded):
		return &step.Problem{Code: step.ProblemTimeout, Text: "the person did not answer in time"}
	case why == context.Canceled:
		return &step.Problem{Code: step.ProblemCancelled, Text: "the sign-in was cancelled"}
	case errors.As(cmp.Or(why, err), &problem): // why is the error of a code that was to be shown
		return problem
	}
	return unavailable(cmp.Or(why, err).Error())
}

// wait sleeps. It ends early when the flow stops waiting for the person.
func (f *flow) wait(ctx context.Context, a *step.Action) (*step.Event, error) {
	d := time.Duration(a.Wait.Milliseconds) * time.Millisecond
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return &step.Event{}, nil
	case <-f.person.Done():
		return nil, f.personProblem(ctx, f.person.Err())
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// command runs the command of the server entry.
func (f *flow) command(ctx context.Context, _ *step.Action) (*step.Event, error) {
	if f.config.Run == nil {
		return nil, unavailable("the entry of the server names no command for it")
	}
	result, err := f.config.Run(ctx)
	var problem *step.Problem
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &problem):
		return nil, problem
	case errors.Is(err, fs.ErrNotExist): // the program does not exist, so the entry is wrong
		return nil, &SettingsError{err}
	case err != nil:
		return nil, unavailable(err.Error())
	}
	if len(result.Stdout) > step.MaxRecord {
		return nil, &step.Problem{Code: step.ProblemRefused, Text: "the command printed more than may be taken"}
	}
	result.Stderr = cleantext.Line(result.Stderr, 1<<10)
	return &step.Event{Run: result}, nil
}
