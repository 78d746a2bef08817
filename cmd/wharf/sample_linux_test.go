package main

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

const sampled = `{"systemPrompt":"be\u001b[2J brief","maxTokens":9,"messages":[
	{"role":"user","content":{"type":"text","text":"What is\nsix times seven?\u001b"}},
	{"role":"user","content":[{"type":"text","text":"Quick"},{"type":"image","data":"AA==","mimeType":"image/png"}]}]}`

// A server that wants the answer of a model gets what the person writes, who sees the
// messages first.
func TestSampleByHand(t *testing.T) {
	s := asked(t, "sampling/createMessage", sampled)
	shown := s.await("Your answer: ")
	for _, want := range []string{"server-asks (server-asks --api-key ***) wants the answer of a model to what is\n", "│ system: be\\x1b[2J brief\n",
		"│ user: What is\n│ six times seven?\\x1b\n", "│ user: Quick\n│ {\"type\":\"image\"", "There is no model here (--sampler names one): what you write is the answer.\n"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing in %q", want, shown)
		}
	}
	s.answer("", "forty-two\r")
	text, code := s.end()
	if want := "{\n  \"content\": {\n    \"text\": \"forty-two\",\n    \"type\": \"text\"\n  },\n  \"model\": \"person\",\n  \"role\": \"assistant\",\n  \"stopReason\": \"endTurn\"\n}\n"; code != exit.CodeOK || !strings.Contains(text, want) {
		t.Errorf("exit code %d, shown %q", code, text)
	}
}

// A person who does not want to answer says so, and the server learns just that.
func TestSampleIsRejected(t *testing.T) {
	for _, keys := range []string{"\x04", "\x1b", "\r"} {
		s := asked(t, "sampling/createMessage", sampled)
		s.answer("Your answer: ", keys)
		text, code := s.end()
		if !strings.Contains(text, `"code": -1`) || !strings.Contains(text, "Declined. Nothing was sent to server-asks.") || code != exit.CodeOK {
			t.Errorf("%q: exit code %d, shown %q", keys, code, text)
		}
	}
}

// On a terminal the program of --sampler is asked, and its answer sent, only when the
// person agrees to each.
func TestSamplerNeedsConsent(t *testing.T) {
	for _, tt := range []struct {
		first, second string
		want          string
	}{
		{"y\r", "y\r", `"text": "forty-two"`}, {"n\r", "", `"code": -1`}, {"what\r", "", ""}, {"y\r", "n\r", `"code": -1`},
	} {
		s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "call", "sampling/createMessage", "--args", sampled,
			"--sampler", `echo '{"role":"assistant","model":"m","content":{"type":"text","text":"forty-two"}}'`, "--", "server-asks")
		s.start()
		s.answer("The command echo would be given all of it.\nAsk it? [y]es, [n]o: ", tt.first)
		if tt.first == "what\r" {
			s.answer("Ask it? [y]es, [n]o: ", "n\r")
			tt.want = `"code": -1`
		}
		if tt.second != "" {
			s.answer("│ forty-two\nThat is its answer.\nSend it to server-asks? [y]es, [n]o: ", tt.second)
		}
		if text, code := s.end(); !strings.Contains(text, tt.want) || code != exit.CodeOK {
			t.Errorf("%+v: exit code %d, shown %q", tt, code, text)
		}
	}
}

// On a terminal the program of --respondent fills in a form when the person agrees, who sees its
// answers and may edit them before they are sent.
func TestRespondentNeedsConsent(t *testing.T) {
	const asks = `{"message":"Who is it?","requestedSchema":{"required":["name"],"properties":{"name":{"type":"string","title":"Your name"}}}}`
	const review = "│ Your name: Ada\nserver-asks (server-asks) gets these answers: 1.\nSend this to server-asks? [y]es, [n]o, [e]dit: "
	for _, tt := range []struct{ first, second, third, want string }{
		{"y\r", "y\r", "", `"name": "Ada"`},
		{"n\r", "", "", `"action": "decline"`},
		{"y\r", "n\r", "", `"action": "decline"`},
		{"y\r", "e\r", " L.\r", `"name": "Ada L."`},
	} {
		s := newScreen(t, []string{"NO_COLOR=1"}, "wharf", "call", "elicitation/create", "--args", asks,
			"--respondent", `echo '{"action":"accept","content":{"name":"Ada"}}'`, "--", "server-asks")
		s.start()
		s.answer("│ Who is it?\n│ Your name\nThe command echo would be given all of it.\nAsk it? [y]es, [n]o: ", tt.first)
		if tt.second != "" {
			s.answer(review, tt.second)
		}
		if tt.third != "" {
			s.answer("> Ada", tt.third)
			s.answer("Send this to server-asks? [y]es, [n]o, [e]dit: ", "y\r")
		}
		if text, code := s.end(); !strings.Contains(text, tt.want) || code != exit.CodeOK {
			t.Errorf("%+v: exit code %d, shown %q", tt, code, text)
		}
	}
}
