package host

import (
	"context"
	"io"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/trace"
)

// Recorder writes every message that passes between a host and its servers to a
// file, one JSON object per line, without the secrets that it knows of. Several
// hosts may share one. Whoever made it closes it, after them; Close tells whether
// the file is complete. It never holds a message up.
type Recorder = trace.Recorder

// CreateTrace makes a recorder that writes to a new file, for the user's eyes
// only. It takes the place of a trace of before, and of no other file. One that has
// 128 MiB is put aside as path.1, in the place of the one before, and another goes
// on: so it is the newest that is kept, and never more than two files.
func CreateTrace(path string) (*Recorder, error) { return trace.Create(path) }

// NewRecorder makes a recorder that writes to w, without end, and closes it.
func NewRecorder(w io.WriteCloser) *Recorder { return trace.NewRecorder(w) }

// TraceLine is a line of what a [Recorder] has written: what it says, and how it
// is written.
//
// Its fields:
//
//	Raw []byte // without the line break; valid until the next line is read
type TraceLine = trace.Line

// TraceLineError is a line that is none of a trace, and was stepped over.
//
// Its fields:
//
//	Line int // from 1
//	Err  error
type TraceLineError = trace.LineError

// Kinds of a [TraceLine].
const (
	TraceStart        = trace.Start
	TraceGap          = trace.Gap
	TraceEnd          = trace.End
	TraceOpened       = trace.Opened
	TraceLost         = trace.Lost
	TraceClosed       = trace.Closed
	TraceRequest      = trace.Request
	TraceResponse     = trace.Response
	TraceNotification = trace.Notification
	TraceBatch        = trace.Batch
	TraceMalformed    = trace.Malformed
	TraceDropped      = trace.Dropped
)

// ReadTrace reads what a [Recorder] has written, and keeps no more than a line
// of it. A line that is none of a trace comes with a [*TraceLineError], and
// reading goes on behind it; any other error is that of in, and the last.
func ReadTrace(in io.Reader) iter.Seq2[TraceLine, error] { return trace.Read(in) }

// SecretFlag reports whether a flag of a command line, or a variable, is called
// like a secret, so that its value should not be shown.
func SecretFlag(name string) bool { return secret.Flag(name) }

// observed is what sees the messages of a connection: whoever looks at the layers,
// and the recorder. Each function is nil where nobody does.
func (d *dialer) observed(c *connection) (trace func(sent bool, msg []byte), dropped func(why error, msg []byte)) {
	shown, gone := d.host.config.Trace.RPC(d.server.Name), d.host.config.Trace.Dropped(d.server.Name)
	if c.wire == nil {
		return shown, gone
	}
	trace = func(sent bool, msg []byte) {
		if shown != nil {
			shown(sent, msg)
		}
		c.wire.Message(sent, c.peer.Version(), msg)
	}
	dropped = func(why error, msg []byte) {
		if gone != nil {
			gone(why, msg)
		}
		c.wire.Dropped(c.peer.Version(), why, msg)
	}
	return trace, dropped
}

// secrets are the values of an entry that a trace does not show, whatever they are
// called: all variables and headers, credentials in the url and in arguments.
func secrets(s Server) []string {
	out := slices.Collect(maps.Values(s.Env))
	out = slices.AppendSeq(out, maps.Values(s.Auth.Env))
	return append(out, credentials(s)...)
}

// credentials are the values of an entry that stand where credentials do: in headers,
// in the url and in arguments.
func credentials(s Server) (out []string) {
	for name, value := range s.Headers {
		if !negotiates(name) {
			out = append(out, value)
		}
	}
	out = append(out, inArguments(s.Args)...)
	return append(out, inURL(s.URL)...)
}

// namedSecrets are the values of settings and variables that are called secrets.
func namedSecrets(s Server) (out []string) {
	for _, set := range []map[string]string{s.Settings, s.Env, s.Auth.Env} {
		for name, value := range set {
			if secret.Key(name) {
				out = append(out, value)
			}
		}
	}
	for name, value := range s.Auth.Settings {
		if text, ok := value.(string); ok && secret.Key(name) {
			out = append(out, text)
		}
	}
	return out
}

// negotiates tells the headers that every client sends, whose values occur in
// messages as well, as names of types.
func negotiates(header string) bool {
	header = strings.ToLower(header)
	return strings.HasPrefix(header, "accept") || header == "content-type" || header == "user-agent"
}

// inArguments returns the values of flags that are called like secrets.
func inArguments(args []string) (values []string) {
	for i, arg := range args {
		name, value, assigned := strings.Cut(arg, "=")
		switch {
		case !secret.Flag(name):
		case assigned:
			values = append(values, value)
		case strings.HasPrefix(arg, "-") && i+1 < len(args):
			values = append(values, args[i+1])
		}
	}
	return values
}

// inURL returns the password and the values of the query of a url: which of them
// is a key, its name seldom tells.
func inURL(text string) (values []string) {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	if password, ok := u.User.Password(); ok {
		values = append(values, password)
	}
	for _, query := range u.Query() {
		values = append(values, query...)
	}
	return values
}

// Apply is that of [auth.Account], and keeps what it gives out of the trace. The
// proof of a request is good for that one alone.
func (a *account) Apply(ctx context.Context, r *capability.Request) ([]abi.Pair, error) {
	pairs, err := a.Account.Apply(ctx, r)
	if a.hide != nil {
		for _, pair := range pairs {
			if pair.Key != "DPoP" {
				a.hide(pair.Value)
			}
		}
	}
	return pairs, err
}

// Material is that of [auth.Account], and keeps what it gives out of the trace.
func (a *account) Material(ctx context.Context) (*auth.Material, error) {
	m, err := a.Account.Material(ctx)
	if a.hide != nil && m != nil {
		a.hide(m.Blob.Reveal())
		for _, value := range m.Env {
			a.hide(value.Reveal())
		}
	}
	return m, err
}
