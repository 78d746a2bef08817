package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/form"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// respond has the command of the respondent answer a form where there is no terminal.
func (a *Asker) respond(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) {
	fields, err := readForm(ctx, e.RequestedSchema)
	if err != nil {
		return mcp.ElicitResult{}, err
	}
	switch err := a.runRespondent(ctx, e, fields); {
	case errors.Is(err, term.ErrDeclined):
		return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	case errors.Is(err, term.ErrCancelled):
		return mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	case err != nil:
		return mcp.ElicitResult{}, err
	}
	return mcp.ElicitResult{Action: mcp.ElicitAccept, Content: fields.Content()}, nil
}

// runRespondent has the command of the respondent fill in the fields. An answer other than accept is
// term.ErrDeclined or term.ErrCancelled.
func (a *Asker) runRespondent(ctx context.Context, e mcp.Elicitation, fields form.Form) error {
	params, err := json.Marshal(e)
	if err != nil {
		return err
	}
	text, err := a.runAnswerer(ctx, &a.respondent, params)
	if err != nil {
		return err
	}
	var answer struct {
		Action  string
		Content map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return a.failed(&a.respondent, fmt.Errorf(`its answer is no JSON object with "action" and "content": %s`, begins(text)))
	}
	switch answer.Action {
	case mcp.ElicitAccept:
	case mcp.ElicitDecline:
		return term.ErrDeclined
	case mcp.ElicitCancel:
		return term.ErrCancelled
	default:
		return a.failed(&a.respondent, fmt.Errorf("its action is %q; expected accept, decline or cancel: %s", answer.Action, begins(text)))
	}
	if err := fields.Fill(answer.Content); err != nil {
		return a.failed(&a.respondent, fmt.Errorf("its answer does not fit the form: %w: %s", err, begins(text)))
	}
	return nil
}

// readForm reads a requested schema. Of one that cannot be asked for, the server is told what is wrong.
func readForm(ctx context.Context, schema json.RawMessage) (form.Form, error) {
	fields, err := form.Read(ctx, schema)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, &host.RPCError{Code: mcp.CodeInvalidParams, Message: err.Error()}
	}
	return fields, nil
}
