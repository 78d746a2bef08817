package elicit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

const asksName = `{"properties":{"name":{"type":"string"}},"required":["name"]}`

// A respondent answers a form where there is no terminal. An answer that does not fit the form is
// not sent.
func TestRespondent(t *testing.T) {
	for command, want := range map[string]struct{ action, told string }{
		`grep -q '"message":"Who?"' && echo '{"action":"accept","content":{"name":"Ada"}}'`: {mcp.ElicitAccept, ""},
		`echo '{"action":"decline"}'`:                     {mcp.ElicitDecline, ""},
		`echo '{"action":"cancel"}'`:                      {mcp.ElicitCancel, ""},
		`echo '{"action":"accept"}'`:                      {"", "its answer does not fit the form: name: an answer is required"},
		`echo '{"action":"accept","content":{"name":7}}'`: {"", "name: want text, required"},
		`echo '{"name":"Ada"}'`:                           {"", `its action is ""; expected accept, decline or cancel`},
		`echo Ada`:                                        {"", `its answer is no JSON object with "action" and "content": it wrote Ada`},
		`echo no such person >&2; exit 3`:                 {"", "respondent sh: exit status 3: no such person"},
		`echo >&2; exit 3`:                                {"", "respondent sh: exit status 3\n"},
	} {
		a, shown := shellAnswerer(t, command)
		a.Respondent = a.Sampler
		result, err := a.Elicit(t.Context(), mcp.Elicitation{Message: "Who?", RequestedSchema: json.RawMessage(asksName)})
		if result.Action != want.action || (err == nil) != (want.told == "") || !strings.Contains(shown.String(), want.told) {
			t.Errorf("%s: %+v, %v, shown %q", command, result, err, shown)
		}
		if want.action == mcp.ElicitAccept && result.Content["name"] != "Ada" || want.told == "" && shown.Len() > 0 {
			t.Errorf("%s: %+v, shown %q", command, result, shown)
		}
	}
}

// A server gets so many answers of a respondent, whatever it gets of a sampler, and learns of a schema that cannot be asked for.
func TestRespondentIsBounded(t *testing.T) {
	a, shown := shellAnswerer(t, forty)
	a.Respondent = []string{"sh", "-c", `echo '{"action":"accept","content":{}}'`}
	if _, err := a.Elicit(t.Context(), mcp.Elicitation{RequestedSchema: json.RawMessage(`{"properties":{"a":{"type":"object"}}}`)}); err == nil || !strings.Contains(err.Error(), "cannot be asked for") {
		t.Errorf("%v", err)
	}
	a.respondent.begun.Store(maxAnswers - 1)
	for n := range 3 {
		if result, err := a.Elicit(t.Context(), mcp.Elicitation{}); (n == 0) != (err == nil) || (n == 0) != (result.Action == mcp.ElicitAccept) {
			t.Errorf("answer %d: %+v, %v", n, result, err)
		}
	}
	if strings.Count(shown.String(), "gets no more of them") != 1 {
		t.Errorf("shown %q", shown)
	}
	if _, err := a.Sample(t.Context(), json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
}

// A command that hangs is ended after the limit, and the person is told of it.
func TestAnswererTakesTooLong(t *testing.T) {
	a, shown := shellAnswerer(t, "exec sleep 1000")
	a.Respondent, a.Limit = a.Sampler, time.Millisecond
	if _, err := a.Elicit(t.Context(), mcp.Elicitation{}); err == nil {
		t.Error("the respondent has answered")
	}
	if _, err := a.Sample(t.Context(), json.RawMessage(`{}`)); err == nil {
		t.Error("the sampler has answered")
	}
	if strings.Count(shown.String(), " sh: it took longer than the timeout of 1ms\n") != 2 {
		t.Errorf("shown %q", shown)
	}
}
