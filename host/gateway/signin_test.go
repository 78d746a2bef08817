package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/signin"
)

// A code is shown at the client of the call, at the page that has it if there is one, or else by the program.
func TestPersonShowsCodes(t *testing.T) {
	code := signin.Code{Provider: "oauth", Server: "crm", URL: "https://as/device", Code: "AB-CD"}
	var params json.RawMessage
	action, shown := `{"action":"accept"}`, 0
	client := withAsker(t.Context(), json.RawMessage(`{"elicitation":{"url":{}}}`), func(_ context.Context, _ string, p json.RawMessage) (json.RawMessage, error) {
		params = p
		return json.RawMessage(action), nil
	})
	p := Person(&signin.Person{ShowCode: func(context.Context, signin.Code) error { shown++; return nil }})
	if err := p.ShowCode(client, code); err != nil || string(params) != `{"mode":"url","message":"crm wants you to sign in. Type the code AB-CD at https://as/device","url":"https://as/device"}` {
		t.Errorf("%v, asked %s", err, params)
	}
	code.Complete = "https://as/device?code=AB-CD"
	action = `{"action":"decline"}`
	if err := p.ShowCode(client, code); err != signin.ErrDeclined || !strings.Contains(string(params), `"url":"https://as/device?code=AB-CD"`) || shown > 0 {
		t.Errorf("%v, asked %s, and shown %d times", err, params, shown)
	}
	if err := p.ShowCode(t.Context(), code); err != nil || shown != 1 {
		t.Errorf("%v, shown %d times", err, shown)
	}
	for _, p := range []*signin.Person{p, Person(nil)} {
		if err := p.ShowCode(WithoutBrowser(t.Context()), code); err == nil || !strings.Contains(err.Error(), "its code cannot be shown") || shown != 1 {
			t.Errorf("without a browser: %v, shown %d times", err, shown)
		}
	}
}

// A page is shown by the client of the call if it can, else by the program, and else the error says
// that.
func TestPerson(t *testing.T) {
	page := signin.Page{Provider: "oauth", Server: "crm", URL: "https://as/authorize?a=b&c"}
	answer := func(text string, err error) asker {
		return func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if want := `{"mode":"url","message":"crm wants you to sign in.","url":"https://as/authorize?a=b&c"}`; method != "elicitation/create" || string(params) != want {
				t.Errorf("asked %s %s", method, params)
			}
			return json.RawMessage(text), err
		}
	}
	no := &rpc.Error{Code: -32601, Message: "no"}
	offers := json.RawMessage(`{"elicitation":{"url":{}}}`)
	for name, tt := range map[string]struct {
		ask      asker
		browsers int
		err      error
	}{
		"accepts":     {answer(`{"action":"accept"}`, nil), 0, nil},
		"declines":    {answer(`{"action":"decline"}`, nil), 0, signin.ErrDeclined},
		"cannot":      {answer("", no), 1, nil},
		"left":        {answer("", internalError(errLeft)), 0, internalError(errLeft)},
		"outside":     {nil, 1, nil},
		"no response": {answer(`7`, nil), 0, signin.ErrDeclined},
	} {
		ctx, browsers := t.Context(), 0
		if tt.ask != nil {
			ctx = withAsker(ctx, offers, tt.ask)
		}
		p := Person(&signin.Person{OpenURL: func(context.Context, signin.Page) error { browsers++; return nil }})
		if err := p.OpenURL(ctx, page); (err == nil) != (tt.err == nil) || err != nil && err.Error() != tt.err.Error() || browsers != tt.browsers {
			t.Errorf("%s: %v, and %d browsers", name, err, browsers)
		}
		if !p.Present(ctx) || p.Present(WithoutBrowser(ctx)) != (tt.ask != nil) || p.Present(WithoutBrowser(withAsker(ctx, nil, tt.ask))) {
			t.Errorf("%s: Present is wrong with or without a browser", name)
		}
		browsers = 0
		if err := p.OpenURL(WithoutBrowser(ctx), page); browsers > 0 || tt.browsers > 0 && err == nil {
			t.Errorf("%s, of a client that wants no browser: %v, and %d browsers", name, err, browsers)
		}
		if err := Person(nil).OpenURL(ctx, page); tt.browsers > 0 && (err == nil || !strings.Contains(err.Error(), "its page cannot be shown")) {
			t.Errorf("%s, without a browser: %v", name, err)
		}
	}
}

// Whether a call goes on is asked of the client whose call it is, and of no other.
func TestConfirm(t *testing.T) {
	q := policy.Question{Call: &policy.Call{Caller: &policy.Caller{Name: "pet\x1b[31m"}, Server: "crm", Target: policy.Tool, Name: "pay"}, Rule: "policy.costs", Reason: "it costs money"}
	answer := func(text string, err error) asker {
		return func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			if got := string(params); method != "elicitation/create" || !strings.Contains(got, "crm/pay") || !strings.Contains(got, "it costs money") || !strings.Contains(got, "policy.costs") || strings.Contains(got, "u001b") {
				t.Errorf("asked %s %s", method, got)
			}
			return json.RawMessage(text), err
		}
	}
	for name, tt := range map[string]struct {
		ask  asker
		yes  bool
		want string
	}{
		"accepts":     {answer(`{"action":"accept"}`, nil), true, ""},
		"declines":    {answer(`{"action":"decline"}`, nil), false, ""},
		"cancels":     {answer(`{"action":"cancel"}`, nil), false, ""},
		"no response": {answer(`7`, nil), false, ""},
		"cannot":      {answer("", &rpc.Error{Code: -32601, Message: "no"}), false, "shows no forms"},
		"left":        {answer(`{"action":"accept"}`, internalError(errLeft)), false, "gave up"},
		"outside":     {nil, false, "no client"},
	} {
		ctx := t.Context()
		if tt.ask != nil {
			ctx = withAsker(ctx, nil, tt.ask)
		}
		if yes, err := Confirm(ctx, q); yes != tt.yes || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v", name, yes, err)
		}
	}
}
