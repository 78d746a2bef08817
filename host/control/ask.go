package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/trust"
)

// maxAsked is how many requests may wait for the answer of one editor.
const maxAsked = 64

var (
	errNoEditor   = errors.New("no editor is there that can answer")
	errUnanswered = errors.New("the editor did not answer in time")
	errBusy       = fmt.Errorf("%d requests to the editor wait for an answer", maxAsked)
)

// Install sets the callbacks of a host with which it asks a person and tells what happens, so that they
// reach the editors. What is set already is asked where no editor can answer. The callbacks of a session
// are not among them: [Control.Open] sees to those.
func (c *Control) Install(to *host.Config) {
	c.kept = keptBy(to)
	c.tracing.install(to)
	var before signin.Person
	if to.Person != nil {
		before = *to.Person
	}
	to.Person = c.person(before)
	approve, input, event := to.Approve, to.Input, to.Event
	to.Stderr = &stderr{c, to.Stderr}
	to.Approve = func(ctx context.Context, a trust.Approval) (trust.Decision, error) {
		d, err := c.approve(ctx, a)
		if errors.Is(err, errNoEditor) && approve != nil {
			return approve(ctx, a)
		}
		return d, err
	}
	to.Input = func(ctx context.Context, server string, q config.Input) (string, error) {
		text, err := c.input(ctx, server, q)
		if errors.Is(err, errNoEditor) && input != nil {
			return input(ctx, server, q)
		}
		return text, err
	}
	confirm := to.Confirm
	to.Confirm = func(ctx context.Context, q policy.Question) (bool, error) {
		yes, err := c.confirm(ctx, q)
		if errors.Is(err, errNoEditor) && confirm != nil {
			return confirm(ctx, q)
		}
		return yes, err
	}
	to.Event = func(e host.Event) {
		c.hear(e)
		if event != nil {
			event(e)
		}
	}
}

// editorFor returns the editor that answers a question: the one whose call it is, or, if no call caused
// it, the one that asked last of those that can. It is nil if that editor cannot answer or has left, or
// if it is not certain whose call it is.
func (c *Control) editorFor(ctx context.Context, can func(*Capabilities) bool) *editor {
	caller, sure := host.CallerOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !sure {
		return nil
	}
	for _, e := range slices.Backward(c.editors) {
		if (caller == 0 || e.number == caller) && can(&e.hello.Capabilities) {
			return e
		}
	}
	return nil
}

// ask sends a request about a server to the editor that is to answer it, and reads the result. An editor that
// has not answered in time is told that the answer is not wanted any more. Where it is not certain which
// editor that is, a warning that all may hear says why none is asked.
func (c *Control) ask(ctx context.Context, server string, can func(*Capabilities) bool, method string, params, result any) error {
	e := c.editorFor(ctx, can)
	if e == nil {
		if _, sure := host.CallerOf(ctx); !sure {
			c.events.add(Event{Kind: Warning, Server: server, Text: "it asked something (" + method + ") while calls of several editors to it were open, and does not say for which of them: no editor was asked"})
		}
		return errNoEditor
	}
	defer e.asked.Add(-1)
	if e.asked.Add(1) > maxAsked {
		return errBusy
	}
	text, err := encode(params)
	if err != nil {
		return err
	}
	c.counts.asked.Add(1)
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, errUnanswered)
	defer cancel()
	answer, err := e.peer.Call(ctx, &rpc.Call{Method: method, Timeout: -1}, rpc.Raw(text))
	if errors.Is(context.Cause(ctx), errUnanswered) && err != nil {
		c.counts.unanswered.Add(1)
		return errUnanswered
	}
	if err != nil {
		return fmt.Errorf("the editor: %w", err)
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("the editor's answer to %s: %w", method, err)
	}
	return nil
}

// clientOf returns the client that servers are told of: it has the name of the last of these editors, and offers
// what any of them can answer.
func (c *Control) clientOf(editors ...*editor) host.Client {
	var out host.Client
	var can Capabilities
	for _, e := range editors {
		its := &e.hello.Capabilities
		out.Info = mcp.Implementation{Name: e.hello.Client.Name, Version: e.hello.Client.Version}
		can.Elicit, can.OpenURL = can.Elicit || its.Elicit, can.OpenURL || its.OpenURL
		can.Sample, can.Roots = can.Sample || its.Sample, can.Roots || its.Roots
	}
	if can.Elicit || can.OpenURL {
		modes := make(map[string]struct{})
		if can.Elicit {
			modes[mcp.ElicitForm] = struct{}{}
		}
		if can.OpenURL {
			modes[mcp.ElicitURL] = struct{}{}
		}
		declared, _ := encode(modes)
		out.Elicit, out.Capabilities = c.elicit, map[string]json.RawMessage{"elicitation": declared}
	}
	if can.Sample {
		out.Sample = c.sample
	}
	if can.Roots {
		out.Roots = c.roots
	}
	return out
}

// elicit shows a form, or a page to which the server sends the person. An editor that gives no usable
// answer has cancelled.
func (c *Control) elicit(ctx context.Context, server string, e mcp.Elicitation) (mcp.ElicitResult, error) {
	if e.Mode == mcp.ElicitURL {
		var r OpenURLResult
		if err := c.ask(ctx, server, canOpenURL, methodOpenURL, OpenURLParams{Server: server, URL: e.URL, Message: e.Message}, &r); err != nil {
			return unasked(err), nil
		}
		return mcp.ElicitResult{Action: r.Action.mcp()}, nil
	}
	var r ElicitResult
	err := c.ask(ctx, server, func(can *Capabilities) bool { return can.Elicit }, methodElicit, ElicitParams{server, e.Message, e.RequestedSchema, fieldsOf(e.RequestedSchema)}, &r)
	if err != nil {
		return unasked(err), nil
	}
	out := mcp.ElicitResult{Action: r.Action.mcp()}
	if r.Action == Accept {
		out.Content = r.Content
	}
	return out, nil
}

// confirm asks whether a call goes on, with a form without fields.
func (c *Control) confirm(ctx context.Context, q policy.Question) (bool, error) {
	form := ElicitParams{Server: q.Server, Message: q.String(), Schema: json.RawMessage(`{"type":"object","properties":{}}`), Fields: []string{}}
	var r ElicitResult
	err := c.ask(ctx, q.Server, func(can *Capabilities) bool { return can.Elicit }, methodElicit, form, &r)
	return r.Action == Accept && err == nil, err
}

// fieldsOf returns the names of the fields of a form, in the order of its schema.
func fieldsOf(schema json.RawMessage) []string {
	names := []string{}
	r := strictjson.Read(schema)
	for member := range r.Members() {
		if string(member) != "properties" {
			continue
		}
		for name := range r.Object() {
			names = append(names, string(name))
		}
	}
	return names
}

// unasked is the result of a question that has no answer.
func unasked(err error) mcp.ElicitResult {
	if errors.Is(err, errNoEditor) {
		return mcp.ElicitResult{Action: mcp.ElicitDecline}
	}
	return mcp.ElicitResult{Action: mcp.ElicitCancel}
}

// mcp returns an action in the words of MCP. An action that is unknown is no consent.
func (a Action) mcp() string {
	switch a {
	case Accept:
		return mcp.ElicitAccept
	case Decline:
		return mcp.ElicitDecline
	}
	return mcp.ElicitCancel
}

func (c *Control) sample(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
	var r json.RawMessage
	err := c.ask(ctx, server, func(can *Capabilities) bool { return can.Sample }, methodSample, SampleParams{server, params}, &r)
	return r, err
}

func (c *Control) roots(ctx context.Context, server string) ([]mcp.Root, error) {
	var r RootsResult
	err := c.ask(ctx, server, func(can *Capabilities) bool { return can.Roots }, methodRoots, ServerParams{server}, &r)
	return r.Roots, err
}

func canOpenURL(can *Capabilities) bool { return can.OpenURL }

func canApprove(can *Capabilities) bool { return can.Approve }

// person returns the person behind the editors, for sign-ins. before is asked where no editor can be.
func (c *Control) person(before signin.Person) *signin.Person {
	return &signin.Person{
		OpenURL: func(ctx context.Context, p signin.Page) error {
			err := c.openPage(ctx, p)
			if errors.Is(err, errNoEditor) && before.OpenURL != nil {
				return before.OpenURL(ctx, p)
			}
			return err
		},
		Ask: func(ctx context.Context, q signin.Question) (string, error) {
			text, err := c.prompt(ctx, PromptParams{Server: q.Server, Label: q.Label, Hint: q.Hint, Secret: q.Secret, Refused: q.Refused})
			if errors.Is(err, errNoEditor) && before.Ask != nil {
				return before.Ask(ctx, q)
			}
			return text, err
		},
		ShowCode: func(ctx context.Context, code signin.Code) error { return c.showCode(ctx, code, before.ShowCode) },
	}
}

// openPage has an editor show the page of a sign-in.
func (c *Control) openPage(ctx context.Context, p signin.Page) error {
	var r OpenURLResult
	message := p.Server + " wants you to sign in."
	err := c.ask(ctx, p.Server, canOpenURL, methodOpenURL, OpenURLParams{Server: p.Server, URL: p.URL, Message: message, SignIn: true}, &r)
	switch {
	case err != nil:
		return err
	case r.Action != Accept:
		return signin.ErrDeclined
	case r.Address != "" && p.Paste != nil:
		return p.Paste(r.Address)
	}
	return nil
}

// prompt asks the person for a text.
func (c *Control) prompt(ctx context.Context, p PromptParams) (string, error) {
	var r PromptResult
	if err := c.ask(ctx, p.Server, func(can *Capabilities) bool { return can.Prompt }, methodPrompt, p, &r); err != nil {
		return "", err
	}
	if r.Action != Accept {
		return "", signin.ErrDeclined
	}
	return r.Text, nil
}

// showCode has an editor show a code until ctx ends, and does not wait. Where none can, a warning that
// all editors may hear has the code.
func (c *Control) showCode(ctx context.Context, code signin.Code, before func(context.Context, signin.Code) error) error {
	can := func(can *Capabilities) bool { return can.ShowCode }
	switch {
	case c.editorFor(ctx, can) != nil:
		c.running.Go(func() {
			c.ask(ctx, code.Server, can, methodShowCode, ShowCodeParams{code.Server, code.URL, code.Code, code.Complete}, &Empty{})
		})
	case before != nil:
		return before(ctx, code)
	default:
		c.events.add(Event{Kind: Warning, Server: code.Server, Text: fmt.Sprintf("to sign in to %s, type the code %s at %s", code.Server, code.Code, code.URL)})
	}
	return nil
}

// input asks the person a question of the file of an entry.
func (c *Control) input(ctx context.Context, server string, q config.Input) (string, error) {
	text, err := c.prompt(ctx, PromptParams{
		Server: server, Label: q.ID, Hint: q.Description, Secret: q.Password, Default: q.Default, Options: q.Options,
	})
	if err == nil && text == "" {
		text = q.Default
	}
	if err == nil && len(q.Options) > 0 && !slices.Contains(q.Options, text) {
		return "", fmt.Errorf("expected one of the %d answers to choose from", len(q.Options))
	}
	return text, err
}

// approve asks whether a server of a project may be used. What is no clear consent is a refusal for now.
func (c *Control) approve(ctx context.Context, a trust.Approval) (trust.Decision, error) {
	var r ApproveResult
	err := c.ask(ctx, a.Server, canApprove, methodApprove, ApproveParams{
		Server: a.Server, Project: a.Project, Hash: a.Pin, Changed: a.State == trust.Changed, Lines: a.Lines(),
	}, &r)
	switch r.Decision {
	case Once:
		return trust.JustOnce, err
	case Always:
		return trust.Always, err
	case Never:
		return trust.Never, err
	}
	return trust.NotNow, err
}

// consents asks the editor that makes a change of the configuration whether the person agrees to it.
func (c *Control) consents(ctx context.Context, change *amend.Change) error {
	denied := ErrorData{Kind: KindDenied}
	var r ApproveResult
	err := c.ask(ctx, change.Name, canApprove, methodApprove, ApproveParams{
		Server: change.Name, Hash: hashOf(change), Lines: change.Lines, Edit: true,
	}, &r)
	switch {
	case errors.Is(err, errNoEditor):
		denied.Hint = "such a change is asked of the person: the editor has to answer approve, and say so in its capabilities"
		return &fault{CodeFailed, "nothing is written: the editor cannot ask whether it may be", denied}
	case err != nil:
		return &fault{CodeFailed, "nothing is written: " + err.Error(), denied}
	case r.Decision != Always:
		return &fault{CodeFailed, "nothing is written: the person has not agreed to it", denied}
	}
	return nil
}

// hashOf names what a person is asked to agree to.
func hashOf(change *amend.Change) string {
	sum := sha256.Sum256([]byte(strings.Join(change.Lines, "\n") + "\n\n" + string(change.Text)))
	return "sha256:" + hex.EncodeToString(sum[:])
}
