package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/egress"
)

// wantedOrigin returns the origin of a URL. It returns an error if the manifest does not want that
// origin.
func wantedOrigin(s string, w *step.Wants) (string, error) {
	origin, _, err := originOf(s)
	if err != nil {
		return "", &step.Problem{Code: step.ProblemRefused, Text: err.Error()}
	}
	isOrigin := func(s string) bool { o, err := parseOrigin(s); return err == nil && o == origin }
	if !w.Discover && !slices.ContainsFunc(w.Origins, isOrigin) {
		return "", violationf("it asks for an exchange with %s, which its manifest does not want", cleantext.Line(origin, 200))
	}
	return origin, nil
}

func fetchRequest(r *step.HTTP) *egress.FetchRequest {
	return &egress.FetchRequest{Method: r.Method, URL: r.URL, Header: r.Headers, Body: []byte(r.Body), Redirects: r.Redirects}
}

// fetch makes one exchange with an origin that the manifest wants and the user granted.
// The [Fetcher] checks the grant, and the addresses that the name of the host leads to.
// The request is sent once more if it lacked only the nonce that came with the answer (RFC
// 9449, section 8).
func (f *flow) fetch(ctx context.Context, a *step.Action) (*step.Event, error) {
	origin, err := wantedOrigin(a.HTTP.URL, &f.wants)
	if err != nil {
		return nil, err
	}
	if f.config.Fetch == nil {
		return nil, unavailable("there is no network for it")
	}
	request, key := fetchRequest(a.HTTP), f.keys[a.HTTP.DPoP]
	if a.HTTP.DPoP != "" && key == nil {
		return nil, violationf("it has no key %q", cleantext.Line(a.HTTP.DPoP, 64))
	}
	for first := true; ; first = false {
		if key != nil {
			proof, err := key.proof(request.Method, request.URL, "", f.nonces.of(origin))
			if err != nil {
				return nil, f.fetchProblem(ctx, err)
			}
			request.Header = map[string]string{"DPoP": proof}
			for name, value := range a.HTTP.Headers {
				if !strings.EqualFold(name, "DPoP") { // a proof that the provider made up
					request.Header[name] = value
				}
			}
		}
		answer, err := f.config.Fetch.Fetch(ctx, *request)
		if err != nil {
			return nil, f.fetchProblem(ctx, err)
		}
		renewed := f.nonces.note(origin, answer.Header["dpop-nonce"])
		if !first || key == nil || !renewed || !lacksNonce(answer) {
			return &step.Event{Response: &step.Response{
				Status: answer.Status, URL: answer.URL, Headers: answer.Header, Body: string(answer.Body),
			}}, nil
		}
	}
}

// lacksNonce reports whether an answer refuses a request only because it lacked a nonce:
// an answer of a token endpoint (RFC 9449, section 8) or of a protected resource (section
// 9).
func lacksNonce(answer *egress.FetchResponse) bool {
	var said struct{ Error string }
	return answer.Status == 400 && json.Unmarshal(answer.Body, &said) == nil && said.Error == noNonce ||
		answer.Status == 401 && strings.Contains(answer.Header["www-authenticate"], noNonce)
}

// fetchProblem returns what a provider gets for a failed exchange: a problem, or, if the origin is
// not granted, an error that ends the flow.
func (f *flow) fetchProblem(ctx context.Context, err error) error {
	var origin *egress.OriginError
	var broken violation
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &origin):
		name := cleantext.Line(origin.Origin, 200)
		hint := fmt.Sprintf("to grant it, write in your configuration:\n[plugins.%s]\n%s", f.config.Name, origin.Line())
		if f.config.Installed {
			hint = fmt.Sprintf("to grant it: wharf plugin grant %s %s", f.config.Name, name)
		}
		return &refused{"an exchange with " + name + " is not granted", hint}
	case errors.As(err, &broken):
		return err
	case errors.As(err, new(*egress.RuleError)), errors.As(err, new(*dial.AddressError)):
		return &step.Problem{Code: step.ProblemRefused, Text: err.Error()}
	}
	return &step.Problem{Code: step.ProblemNetwork, Text: err.Error()}
}
