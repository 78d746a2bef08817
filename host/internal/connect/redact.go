package connect

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// redaction holds the secrets that a host knows, in two sets. Secrets that are added to shown are
// added to recorded too, and those of recorded to each trace and recording of the host.
type redaction struct {
	shown    *redact.Set // removed from errors and from what servers print
	recorded *redact.Set // removed from recordings; nil if there are none
}

func newRedaction(c *Config) redaction {
	if c.Print == nil && c.Trace == nil && c.Record == nil {
		return redaction{shown: redact.Join()}
	}
	recorded := redact.Join(c.Print.Secrets(), c.Trace.Secrets(), c.Record.Secrets())
	if c.Print != nil { // the printer mixes the output of servers with the lines of the trace
		return redaction{recorded, recorded}
	}
	return redaction{redact.Join(recorded), recorded}
}

// entry adds the secrets of an entry. Variables whose names do not sound secret are removed from
// recordings only: they are paths and words, which people need in errors.
func (r redaction) entry(s config.Server) {
	shown, named := append(inArguments(s.Args), inURL(s.URL)...), []string(nil)
	for name, value := range s.Headers {
		if !negotiates(name) {
			shown = append(shown, value)
		}
	}
	for _, set := range []map[string]string{s.Settings, s.Env, s.Auth.Env} {
		for name, value := range set {
			if secret.Key(name) {
				named = append(named, value)
			}
		}
	}
	for name, value := range s.Auth.Settings {
		if text, ok := value.(string); ok && secret.Key(name) {
			named = append(named, text)
		}
	}
	r.shown.Hide(shown...)
	r.shown.HideNamed(named...)
	r.recorded.Hide(slices.Collect(maps.Values(s.Env))...)
	r.recorded.Hide(slices.Collect(maps.Values(s.Auth.Env))...)
}

// Redact returns a text without the secrets of the entries that were connected to so far. It
// finds them in the forms that [redact.Set] lists.
func (d *Dialer) Redact(text string) string { return string(d.secrets.shown.Redact([]byte(text))) }

// negotiates reports whether a header is one that every client sends. Its values are names of
// types, which occur in messages too, and are no secrets.
func negotiates(header string) bool {
	header = strings.ToLower(header)
	return strings.HasPrefix(header, "accept") || header == "content-type" || header == "user-agent"
}

// inArguments returns the parts of arguments that look like secrets.
func inArguments(args []string) (values []string) {
	for i, parts := range secret.Arguments(args) {
		values = append(values, shownAs(args[i], parts)...)
	}
	return values
}

// shownAs returns the texts of parts, in the forms in which a server may print them: as they are,
// and without the escapes of a url or of JSON, or the scheme of a header.
func shownAs(text string, parts []secret.Part) (values []string) {
	for _, p := range parts {
		value := text[p.Begin:p.End]
		values = append(values, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			values = append(values, token)
		}
		if plain, err := url.PathUnescape(value); err == nil && plain != value {
			values = append(values, plain)
		}
		if plain, err := strconv.Unquote(`"` + value + `"`); err == nil && plain != value {
			values = append(values, plain)
		}
	}
	return values
}

// inURL returns what looks like a secret in a url, and all values of its query, because names in a
// query seldom tell which value is a key.
func inURL(text string) (values []string) {
	values = shownAs(text, secret.Text(text))
	u, err := url.Parse(text)
	if err != nil {
		return values
	}
	for _, query := range u.Query() {
		values = append(values, query...)
	}
	return values
}
