//go:build !wasip1

package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// The table of RFC 9207, section 2.4, for codes and for errors (row 1).
func TestIssuerOfTheAnswer(t *testing.T) {
	for _, tt := range []struct {
		announced bool
		iss       string // "" if it is missing
		ok        bool
	}{
		{true, as, true},
		{true, "", false},
		{false, as, true},
		{false, "", true},
		{true, "https://evil.example", false},
		{false, "https://evil.example", false},
		{true, as + "/", false},
		{false, as + "/", false},
		{true, "https://AS.example", false},
		{true, as + ":443", false},
		{true, "https://as.%65xample", false},
	} {
		for _, answer := range []object{{"code": "the-code"}, {"error": "access_denied", "error_description": "canary"}} {
			w := newWorld(t)
			w.meta["authorization_response_iss_parameter_supported"] = tt.announced
			if w.code = answer; tt.iss != "" {
				w.code["iss"] = tt.iss
			}
			out := w.run(step.ReasonLogin, nil)
			switch _, failed := answer["error"]; {
			case tt.ok && failed:
				w.mustFail(out, step.FailLogin, "canary")
			case tt.ok:
				w.mustGive(out, "token-1")
			default:
				w.mustFail(out, step.FailConfig, as)
				if len(w.forms) != 0 || strings.Contains(out.Fail.Message, "canary") {
					t.Errorf("%+v: what came was acted on: %s", tt, out.Fail.Message)
				}
			}
		}
	}
}

func TestIssuerMayBeAnnouncedEmpty(t *testing.T) {
	w := newWorld(t)
	w.code["iss"] = ""
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailConfig, as)
}

func TestAuthorizeParams(t *testing.T) {
	w := newWorld(t)
	w.meta["authorization_endpoint"] = as + "/authorize?tenant=1&state=theirs&client_id=theirs"
	w.settings["authorize_params"] = object{"access_type": "offline", "prompt": "login"}
	w.settings["callback_host"], w.settings["callback_port"], w.settings["callback_path"] = "localhost", "8123", "/done"
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
	page := w.pages[0]
	for name, want := range map[string]string{
		"tenant": "1", "access_type": "offline", "prompt": "login", "client_id": "registered", "redirect_uri": "http://localhost:8123/done",
	} {
		if page.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, page.Get(name), want)
		}
	}
}

func TestSettingsThatCannotBe(t *testing.T) {
	for _, tt := range []struct {
		settings object
		want     string
	}{
		{object{"authorize_params": object{"redirect_uri": "https://evil.example"}}, "redirect_uri"},
		{object{"authorize_params": object{"state": "x"}}, "state"},
		{object{"callback_host": "0.0.0.0"}, "callback_host"},
		{object{"callback_port": 70000}, "callback_port"},
		{object{"callback_path": "done"}, "callback_path"},
		{object{"grant": "password"}, "grant is"},
		{object{"grant": "client_credentials", "client_secret": "canary"}, "needs client_id"},
		{object{"grant": "client_credentials", "client_id": "x"}, "client_secret or private_key"},
		{object{"grant": "jwt_bearer"}, "needs jwt"},
		{object{"grant": "enterprise", "client_id": "x"}, "needs id_token"},
		{object{"key_alg": "none"}, "key_alg"},
		{object{"dpop": "maybe"}, "dpop"},
		{object{"metadata_url": "http://as.example"}, "metadata_url"},
		{object{"client_metadata_url": "https://cimd.example"}, "client_metadata_url"},
		{object{"resource": "/mcp"}, "resource"},
		{object{"scopes": "a b"}, "settings"},
	} {
		w := newWorld(t)
		w.settings = tt.settings
		out := w.alone(step.ReasonInitial, nil)
		w.mustFail(out, step.FailConfig, tt.want)
		if strings.Contains(out.Fail.Message, "canary") {
			t.Errorf("a secret is in %q", out.Fail.Message)
		}
	}
	w := newWorld(t)
	w.url = ""
	w.mustFail(w.alone(step.ReasonInitial, nil), step.FailConfig, "URL")
}

func TestTakenPort(t *testing.T) {
	w := signedIn(t)
	w.host.Taken = map[int]bool{49152: true}
	// The registered client has another address than what is free now.
	out := w.run(step.ReasonLogin, nil)
	w.mustGive(out, "token-1")
	if !strings.Contains(strings.Join(out.Lines, "\n"), "listen\nlisten\nhttp POST "+as+"/register\n") {
		t.Errorf("the flow went %q", out.Lines)
	}
	w = newWorld(t)
	w.settings["callback_port"] = 9
	w.host.Taken = map[int]bool{9: true}
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailConfig, "port 9")
}

func TestTokenResponses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		more  object
		class string // "" if it is good
	}{
		{"as it is", object{}, ""},
		{"BEARER", object{"token_type": "BEARER"}, ""},
		{"no life", object{"expires_in": nil}, ""},
		{"life as a text", object{"expires_in": "3600"}, ""},
		{"life as a fraction", object{"expires_in": 3600.5}, ""},
		{"life without end", object{"expires_in": 1e300}, ""},
		{"scopes", object{"scope": "a b"}, ""},
		{"no type", object{"token_type": nil}, step.FailRetry},
		{"an odd type", object{"token_type": "mac"}, step.FailRetry},
		{"a type of another type", object{"token_type": 1}, step.FailRetry},
		{"bound without asking", object{"token_type": "DPoP"}, step.FailRetry},
		{"no token", object{"access_token": ""}, step.FailRetry},
		{"a line end in the token", object{"access_token": "a\r\nX: y"}, step.FailRetry},
		{"a token of another type", object{"access_token": object{}}, step.FailRetry},
		{"life as a word", object{"expires_in": "soon"}, step.FailRetry},
		{"life below zero", object{"expires_in": -1}, step.FailRetry},
		{"scopes as a list", object{"scope": []string{"a"}}, step.FailRetry},
		{"an error with status 200", object{"error": "bad_verification_code"}, step.FailConfig},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.grants = func(form url.Values) (int, object) {
				status, body := w.issue(form)
				for name, value := range tt.more {
					body[name] = value
				}
				return status, body
			}
			out := w.run(step.ReasonLogin, nil)
			if tt.class == "" {
				w.mustGive(out, "token-1")
			} else {
				w.mustFail(out, tt.class, as)
			}
			if tt.class != "" && w.savedTokens() != 0 {
				t.Error("it was saved")
			}
		})
	}
}

// An answer that repeats what was sent to it takes none of it into a message.
func TestSecretsStayOutOfMessages(t *testing.T) {
	w := newWorld(t)
	w.settings["client_id"], w.settings["client_secret"] = "mine", "c4nary-secret"
	w.meta["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	for _, name := range []string{"client_secret", "code", "code_verifier"} {
		w.grants = func(form url.Values) (int, object) {
			return 400, object{"error": "invalid_request", "error_description": "you sent " + form.Get(name)}
		}
		out := w.run(step.ReasonLogin, nil)
		w.mustFail(out, step.FailConfig, as)
		if sent := w.forms[len(w.forms)-1].Get(name); sent == "" || strings.Contains(out.Fail.Message, sent) {
			t.Errorf("%s %q is in %q", name, sent, out.Fail.Message)
		}
	}
}
