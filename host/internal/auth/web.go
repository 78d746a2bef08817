package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/egress"
)

// fetch makes one exchange, to where the manifest wants to go and the user lets
// it. The first is looked at here; the second, and where the name of the host
// leads to, by the Fetcher.
func (f *flow) fetch(ctx context.Context, a *step.Action) (*step.Event, error) {
	origin, err := wantedOrigin(a.HTTP.URL, &f.wants)
	if err != nil {
		return nil, err
	}
	if f.config.Fetch == nil {
		return nil, unavailable("there is no network for it")
	}
	answer, err := f.exchange(ctx, a.HTTP, origin)
	if err != nil {
		return nil, f.fetchProblem(ctx, err)
	}
	return &step.Event{Response: &step.Response{
		Status: answer.Status, URL: answer.URL, Headers: answer.Header, Body: string(answer.Body),
	}}, nil
}

// wantedOrigin returns the origin of a URL, if the manifest wants it.
func wantedOrigin(s string, w *step.Wants) (string, error) {
	u, err := url.Parse(s)
	if err != nil {
		return "", &step.Problem{Code: step.ProblemRefused, Text: "this is no URL"}
	}
	origin, err := originOf(u)
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

// exchange sends a request, and once more if all that it lacks is the nonce that
// came with the answer (RFC 9449, section 8).
func (f *flow) exchange(ctx context.Context, r *step.HTTP, origin string) (*egress.FetchResponse, error) {
	request := fetchRequest(r)
	key := f.keys[r.DPoP]
	if r.DPoP != "" && key == nil {
		return nil, violationf("it has no key %q", cleantext.Line(r.DPoP, 64))
	}
	for first := true; ; first = false {
		if key != nil {
			proof, err := key.proof(r.Method, r.URL, "", f.nonces.of(origin))
			if err != nil {
				return nil, err
			}
			request.Header = withProof(r.Headers, proof)
		}
		answer, err := f.config.Fetch.Fetch(ctx, *request)
		if err != nil {
			return nil, err
		}
		renewed := f.nonces.note(origin, answer.Header["dpop-nonce"])
		if !first || key == nil || !renewed || !lacksNonce(answer) {
			return answer, nil
		}
	}
}

// withProof adds a proof to headers, in place of any that the provider made up.
func withProof(headers map[string]string, proof string) map[string]string {
	out := maps.Clone(headers)
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.EqualFold(name, "DPoP") })
	if out == nil {
		out = map[string]string{}
	}
	out["DPoP"] = proof
	return out
}

// noNonce is the error of a proof without the nonce that a server wants.
const noNonce = "use_dpop_nonce"

// lacksNonce reads the answer of a token endpoint (section 8), or of any other
// that is protected (section 9).
func lacksNonce(answer *egress.FetchResponse) bool {
	var said struct{ Error string }
	return answer.Status == 400 && json.Unmarshal(answer.Body, &said) == nil && said.Error == noNonce ||
		answer.Status == 401 && strings.Contains(answer.Header["www-authenticate"], noNonce)
}

// grants says how the user lets the provider call an origin.
func (f *flow) grants(o *egress.OriginError) string {
	if f.config.Installed {
		return fmt.Sprintf("to grant it: wharf plugin grant %s %s", f.config.Name, cleantext.Line(o.Origin, 200))
	}
	return fmt.Sprintf("to grant it, write in your configuration:\n[plugins.%s]\n%s", f.config.Name, o.Line())
}

// fetchProblem is what a provider hears of an exchange that failed. To ask for
// what is not granted ends the flow.
func (f *flow) fetchProblem(ctx context.Context, err error) error {
	var origin *egress.OriginError
	var rule *egress.RuleError
	var address *dial.AddressError
	var broken violation
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &origin):
		return &refused{"an exchange with " + cleantext.Line(origin.Origin, 200) + " is not granted", f.grants(origin)}
	case errors.As(err, &broken):
		return err
	case errors.As(err, &rule), errors.As(err, &address):
		return &step.Problem{Code: step.ProblemRefused, Text: err.Error()}
	}
	return &step.Problem{Code: step.ProblemNetwork, Text: err.Error()}
}
