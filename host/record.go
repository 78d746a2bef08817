package host

import (
	"context"
	"errors"
	"io"

	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/replay"
)

// GuestRecorder keeps what passes between the plugins of transports and their host:
// every event, every host call with its result, the clock and the randomness. That
// is enough to run a session again without its server, see [Replay]. Secrets are
// overwritten. It may be used from any goroutine; who made it closes it, after the
// hosts that it is given to. For messages alone there is [Recorder].
type GuestRecorder = replay.Recorder

// CreateRecording makes a recording that nobody but the user can read. A recording
// of before is replaced by it; anything else that is there stays, and is an error.
func CreateRecording(path string) (*GuestRecorder, error) { return replay.Create(path) }

// NewGuestRecorder makes a recorder that writes to w, and closes it in the end.
func NewGuestRecorder(w io.WriteCloser) *GuestRecorder { return replay.NewRecorder(w) }

// ReplayOptions are what [Replay] compares, and how it runs. The zero value compares
// what a plugin does to the world, and neither what it logs nor how it reads.
//
// Its fields:
//
//	Logs  bool // what the plugin logs, too
//	Reads bool // how it looks at payloads, too
//	CacheDir    string // keeps the compiled plugin; "" is no cache
//	Interpreted bool // without native code, and then without CacheDir
//	Worker      []string // compiles the plugin, as that of Config; nil compiles it here
type ReplayOptions = replay.Options

// ReplayReport is how a plugin compares with a recording.
//
// Its fields:
//
//	Plugin      string // the name that it gives itself
//	SHA256      string
//	Same        bool // there is no difference
//	SameFile    bool // it is the very file that was recorded
//	Connections int // that were run
//	Others      int // that another plugin had
//	Events      int
//	Calls       int // that were compared
//	Skipped     int // events that could not be run, behind the end of their guest
//	Incomplete  bool // the recording lacks something
//	First       *Difference
//	Differences []Summary // all, the most frequent first
type ReplayReport = replay.Report

// ReplayDifference is one place in which a plugin does something else than what was
// recorded.
//
// Its fields:
//
//	Server     string
//	Connection int
//	Event      int // from 1, in its connection
//	Kind       string
//	Want       string // what was recorded
//	Got        string
//	Before     []string // the lines before it
type ReplayDifference = replay.Difference

// RecordingError says what is wrong with a recording, and in which line.
//
// Its fields:
//
//	Line int // from 1; 0 for the whole of it
//	Err  error
type RecordingError = replay.FileError

// Replay runs the connections of a recording once more, with plugin as their
// transport and without any server, and says where it does something else. It runs
// those of a plugin that gives itself the same name. A recording that cannot be run
// is a [*RecordingError], and a plugin that cannot, [ErrPluginRefused].
func Replay(ctx context.Context, recording io.Reader, plugin []byte, o ReplayOptions) (*ReplayReport, error) {
	if isProvider(plugin) {
		return nil, &hosterr.Error{Kind: ErrPluginRefused, Err: errors.New("it is an auth provider, and those are not recorded"), Hint: "a recording is run with the file of a transport"}
	}
	d, err := replay.Replay(ctx, recording, plugin, o)
	if errors.As(err, new(*replay.PluginError)) {
		return nil, &hosterr.Error{Kind: ErrPluginRefused, Err: &PluginError{Plugin: "to replay", Op: "load", Err: err}}
	}
	return d, err
}

// hide keeps the secrets of an entry out of what is recorded, and out of what servers
// print and what errors quote. In the latter two, variables that are not called secrets
// are left: they are paths and words that people need. A trace hides those as well.
func (h *Host) hide(s Server) {
	texts, named := secrets(s), namedSecrets(s)
	h.known.Hide(credentials(s)...)
	h.known.HideNamed(named...)
	if h.config.Trace != nil {
		h.known.Hide(texts...)
	}
	h.config.Trace.Hide(texts...)
	h.config.Trace.HideNamed(named...)
	h.config.Recorder.Hide(texts...)
	h.config.Recorder.HideNamed(named...)
	h.config.Record.Hide(texts...)
	h.config.Record.HideNamed(named...)
}

// hideLookedUp keeps a secret out of all that hide speaks of, which a setting of an
// entry leads to.
func (h *Host) hideLookedUp(text string) {
	h.known.HideNamed(text)
	h.config.Trace.HideNamed(text)
	h.config.Recorder.HideNamed(text)
	h.config.Record.HideNamed(text)
}

// Redact returns a text without the secrets of the entries that the host has connected
// to so far, in whatever encoding they are there: for errors that are shown or logged,
// since servers and plugins may quote what they were given. It may be called after
// Close.
func (h *Host) Redact(text string) string { return string(h.known.Cover([]byte(text))) }

// hideRecent keeps what a sign-in has given out of what is recorded.
func (h *Host) hideRecent(texts ...string) {
	h.config.Recorder.HideRecent(texts...)
	h.config.Record.HideRecent(texts...)
}

// recorded has a connection recorded, if that is wanted; otherwise the take is nil.
func (d *dialer) recorded(c *guest.Config) *replay.Take {
	if d.host.config.Record == nil {
		return nil
	}
	take := d.host.config.Record.Connect(d.server.Name, d.via, d.module.hash)
	c.Observer, c.Now, c.Random = take, take.Now, take
	return take
}
