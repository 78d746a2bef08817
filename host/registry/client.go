package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// Bounds of the answers of a registry.
const (
	pageSize   = 100 // servers that are asked for at once, the most that the official one returns
	maxPages   = 100
	maxAnswer  = 8 << 20          // bytes
	maxCursor  = 4 << 10          // bytes
	answerTime = 30 * time.Second // unless [Client.Timeout] is set
	searchTime = 2 * time.Minute  // for all pages
)

// Client asks one registry. It may be used by several goroutines until it is closed.
type Client struct {
	// Timeout is how long the client waits for each answer; 0 is 30 s, and a negative one has no limit. It is set
	// before the first use.
	Timeout time.Duration

	base    string // "https://host/path", without a slash at its end
	local   bool   // it is on this machine
	fetcher *egress.Fetcher

	secret func(ctx context.Context, name string) (string, error)
	named  string // the name of the secret that holds its token

	mu    sync.Mutex
	token string // "" until the registry wanted one
}

// New returns a client of the registry at an address: https, or http on this machine. If the
// registry wants a token, it gets the user's secret "registry:HOST", which no other host sees.
// secret returns a secret of the user by its name, "" for none; a nil secret has none.
func New(address string, secret func(ctx context.Context, name string) (string, error)) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, configError("", "%q is no address of a registry; write https://host", cleantext.Line(address, 200))
	}
	fetcher, err := egress.NewFetcher(egress.Policy{Origins: []string{u.Scheme + "://" + u.Host}})
	if err != nil {
		return nil, configError("", "registry: %w", err)
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/")
	return &Client{base: strings.TrimSuffix(base, "/v0.1"), local: egress.IsLoopback(u.Hostname()), fetcher: fetcher, secret: secret, named: "registry:" + u.Host}, nil
}

// Address returns the address of the registry.
func (c *Client) Address() string { return c.base }

// Close closes the connections.
func (c *Client) Close() { c.fetcher.Close() }

// Version returns one version of a server; "latest" is the newest. Its hash covers all that the
// registry says of the version except _meta and $schema, and so changes with everything that
// decides what runs.
func (c *Client) Version(ctx context.Context, name, version string) (*Listing, error) {
	if !IsName(name) {
		return nil, configError("names are like io.github.user/weather; `wharf search WORD` lists them", "%q is not the name of a server in a registry", cleantext.Line(name, 200))
	}
	var a answer
	err := c.get(ctx, "/servers/"+url.PathEscape(name)+"/versions/"+url.PathEscape(version), url.Values{"include_deleted": {"true"}}, &a)
	if errors.Is(err, errNotThere) {
		return nil, c.notThere(ctx, name, version)
	}
	if err != nil {
		return nil, err
	}
	l, err := a.listing()
	switch {
	case err != nil:
		return nil, protocolError("what the registry says of %s cannot be read: %w", label(name, version), err)
	case l.Server.Name != name || version != "latest" && l.Server.Version != version:
		return nil, protocolError("the registry was asked for %s and answered with %s", label(name, version), label(l.Server.Name, l.Server.Version))
	}
	l.Server.local = c.local
	return l, nil
}

// notThere returns the error for a version that is not in the registry.
func (c *Client) notThere(ctx context.Context, name, version string) error {
	hint := "`wharf search WORD` lists what there is"
	if version != "latest" {
		all, err := c.Versions(ctx, name)
		var known []string
		for _, l := range all[:min(len(all), 10)] {
			known = append(known, cleantext.Line(l.Server.Version, 40))
		}
		if err == nil && len(known) > 0 {
			hint = "it has " + strings.Join(known, ", ")
		}
	}
	return configError(hint, "the registry has no %s", label(name, version))
}

// Versions returns those versions of a server that can be read, the newest first.
func (c *Client) Versions(ctx context.Context, name string) ([]Listing, error) {
	var page struct {
		Servers []answer `json:"servers"`
	}
	if err := c.get(ctx, "/servers/"+url.PathEscape(name)+"/versions", nil, &page); err != nil {
		return nil, err
	}
	var all []Listing
	for i := range page.Servers {
		if l, err := page.Servers[i].listing(); err == nil && l.Server.Name == name {
			all = append(all, *l)
		}
	}
	return all, nil
}

func label(name, version string) string {
	if version == "latest" {
		return cleantext.Line(name, 200)
	}
	return cleantext.Line(name+" "+version, 300)
}

// Found is the result of a search.
type Found struct {
	Servers []Listing
	More    bool // there are more than were asked for
	Skipped int  // servers that could not be read
}

// Search returns the newest versions of at most limit servers. A server is found if its name has
// the first word, and its name, title or description has each of the others. The registry
// searches names only, so a word of a description finds nothing by itself.
func (c *Client) Search(ctx context.Context, words []string, limit int) (*Found, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, hosterr.Errorf(hosterr.ErrTimeout, "search for a word that fewer names have",
		"the registry at %s: the search took longer than %v", c.base, searchTime))
	defer cancel()
	found := &Found{}
	cursors := make(map[string]bool)
	query := url.Values{"version": {"latest"}, "limit": {strconv.Itoa(pageSize)}}
	if len(words) > 0 {
		query.Set("search", words[0])
	}
	for {
		var page struct {
			Servers  []answer `json:"servers"`
			Metadata struct {
				NextCursor string `json:"nextCursor"`
			} `json:"metadata"`
		}
		err := c.get(ctx, "/servers", query, &page)
		if errors.Is(err, errNotThere) {
			err = protocolError("there is no registry at %s (HTTP 404)", c.base)
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Servers {
			l, err := page.Servers[i].listing()
			switch {
			case err != nil:
				found.Skipped++
			case !l.Server.has(words):
			case len(found.Servers) == limit:
				found.More = true
				return found, nil
			default:
				found.Servers = append(found.Servers, *l)
			}
		}
		next := page.Metadata.NextCursor
		switch {
		case next == "":
			return found, nil
		case cursors[next] || len(next) > maxCursor:
			return nil, protocolError("the registry's list does not end: it gives the same page, or one without a readable name, again")
		case len(cursors)+1 == maxPages:
			found.More = true
			return found, nil
		}
		cursors[next] = true
		query.Set("cursor", next)
	}
}

// has reports whether each of the words occurs in the name, title or description of a server.
func (s *Server) has(words []string) bool {
	text := strings.ToLower(s.Name + "\n" + s.Title + "\n" + s.Description)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}

var errNotThere = errors.New("it is not there")

// get reads one answer of the API.
func (c *Client) get(ctx context.Context, path string, query url.Values, into any) error {
	within, limit := ctx, cmp.Or(c.Timeout, answerTime)
	if limit > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeoutCause(ctx, limit, hosterr.Errorf(hosterr.ErrTimeout, "--timeout lets it take longer",
			"the registry at %s: no answer within %v", c.base, limit))
		defer cancel()
	}
	r := egress.FetchRequest{URL: c.base + "/v0.1" + path, Header: map[string]string{"Accept": "application/json"}}
	if len(query) > 0 {
		r.URL += "?" + query.Encode()
	}
	got, err := c.exchange(within, r)
	if err != nil {
		return c.failed(within, err)
	}
	switch got.Status {
	case 200:
	case 404:
		return errNotThere
	case 400, 422:
		return configError("the official registry wants a word of three letters or more", "the registry refuses this search (HTTP %d)", got.Status)
	case 401, 403:
		hint := fmt.Sprintf("if you have a token for it, keep it with `wharf auth secret %s`; no other host is given it", c.named)
		kind := hosterr.ErrDenied
		if got.Status == 401 {
			kind = hosterr.ErrAuthRequired
		}
		return hosterr.Errorf(kind, hint, "the registry at %s wants a sign-in, or another one (HTTP %d)", c.base, got.Status)
	default:
		return c.failed(within, fmt.Errorf("HTTP %d%s", got.Status, c.reason(got.Body)))
	}
	if err := json.Unmarshal(got.Body, into); err != nil {
		return protocolError("the answer of %s is not what a registry answers: %w", c.base, err)
	}
	return nil
}

// reason returns what the body of an answer that is no success gives as the reason (RFC 9457), or "".
// It leaves out one that has the user's token in it.
func (c *Client) reason(body []byte) string {
	var problem struct{ Title, Detail string }
	_ = json.Unmarshal(body, &problem) // anything else says nothing
	text := cmp.Or(problem.Detail, problem.Title)
	c.mu.Lock()
	defer c.mu.Unlock()
	if text == "" || c.token != "" && strings.Contains(text, c.token) {
		return ""
	}
	return ": " + cleantext.Line(text, 200)
}

// exchange makes one request, and repeats it with the user's token if the registry wants one. It
// looks up the token once.
func (c *Client) exchange(ctx context.Context, r egress.FetchRequest) (*egress.FetchResponse, error) {
	c.mu.Lock()
	token := c.token
	c.mu.Unlock()
	if token != "" {
		r.Header["Authorization"] = "Bearer " + token
	}
	got, err := c.fetcher.Download(ctx, r, maxAnswer)
	if err != nil || token != "" || c.secret == nil || got.Status != 401 && got.Status != 403 {
		return got, err
	}
	if token, err = c.secret(ctx, c.named); err != nil || token == "" {
		return got, err
	}
	c.mu.Lock()
	c.token = token
	c.mu.Unlock()
	r.Header["Authorization"] = "Bearer " + token
	return c.fetcher.Download(ctx, r, maxAnswer)
}

// failed returns the error for a request without an answer.
func (c *Client) failed(ctx context.Context, err error) error {
	kind := hosterr.ErrUnreachable
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*egress.RuleError)):
		kind = hosterr.ErrProtocol
	}
	return &hosterr.Error{Kind: kind, Err: fmt.Errorf("the registry at %s: %w", c.base, err)}
}
