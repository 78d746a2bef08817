package main

import (
	"strings"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// services says where people find a token of well-known services. A host matches if it is one of
// these, or below one.
var services = []struct{ host, hint string }{
	{"github.com", "https://github.com/settings/personal-access-tokens"},
	{"githubcopilot.com", "https://github.com/settings/personal-access-tokens"},
	{"gitlab.com", "https://gitlab.com/-/user_settings/personal_access_tokens"},
	{"slack.com", "https://api.slack.com/apps, under OAuth & Permissions"},
	{"sentry.io", "https://sentry.io/settings/account/api/auth-tokens/"},
	{"sentry.dev", "https://sentry.io/settings/account/api/auth-tokens/"},
	{"linear.app", "https://linear.app/settings/account/security"},
	{"notion.com", "https://www.notion.so/profile/integrations"},
	{"notion.so", "https://www.notion.so/profile/integrations"},
	{"atlassian.com", "https://id.atlassian.com/manage-profile/security/api-tokens"},
	{"stripe.com", "https://dashboard.stripe.com/apikeys"},
	{"cloudflare.com", "https://dash.cloudflare.com/profile/api-tokens"},
	{"huggingface.co", "https://huggingface.co/settings/tokens"},
	{"figma.com", "https://www.figma.com/settings, under Security"},
	{"supabase.com", "https://supabase.com/dashboard/account/tokens"},
}

func hintFor(host string) string {
	host = strings.ToLower(host)
	for _, s := range services {
		if host == s.host || strings.HasSuffix(host, "."+s.host) {
			return "make one at " + s.hint
		}
	}
	return "make one where you have your account"
}

// askForToken is the last resort: the person has a token, or gets one by hand. It is saved like
// an issued one, and belongs to this server alone.
func (l *login) askForToken(at *place) (*token, error) {
	start := l.Start()
	if at.Server.Guessed && l.wants.basic {
		return nil, auth.NeedsLogin("it wants Basic, a name and a password, and takes no token",
			"write auth, or headers with Authorization, in the entry of "+start.Server.Name)
	}
	hint := "its authorization server lets no program register by itself; " + hintFor(l.server.Hostname()) +
		", or set client_id to that of an app you have registered"
	if at.Server.Guessed {
		hint = "it wants a token, and does not say who gives one out; an API key may be one: " + hintFor(l.server.Hostname())
	}
	text, err := l.Prompt(auth.Prompt{Label: "Token for " + start.Server.Name + " (" + l.server.Host + ")", Secret: true, Hint: hint})
	if err != nil {
		return nil, err
	}
	text = strings.TrimSpace(text)
	if len(text) > 7 && strings.EqualFold(text[:7], "Bearer ") {
		text = strings.TrimSpace(text[7:])
	}
	if !isToken(text) {
		return nil, auth.NeedsLogin("what was typed is no token: it is empty, or has spaces in it", "")
	}
	return &token{
		Access: text, Scheme: "Bearer", Scope: l.scopes(at), Born: l.Now().UnixMilli(),
		Source: source{Client: client{Kind: kindPerson, Method: methodNone}},
	}, nil
}
