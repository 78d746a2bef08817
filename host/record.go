package host

import (
	"context"
	"errors"
	"io"

	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/record"
)

// GuestRecorder keeps what passes between the plugins of transports and their host:
// every event, every host call with its result, the clock and the randomness. That
// is enough to run a session again without its server, see [Replay]. Secrets are
// overwritten. It may be used from any goroutine; who made it closes it, after the
// hosts that it is given to. For messages alone there is [Recorder].
type GuestRecorder = record.Recorder

// CreateRecording makes a recording that nobody but the user can read. A recording
// of before is replaced by it; anything else that is there stays, and is an error.
func CreateRecording(path string) (*GuestRecorder, error) { return record.Create(path) }

// NewGuestRecorder makes a recorder that writes to w, and closes it in the end.
func NewGuestRecorder(w io.WriteCloser) *GuestRecorder { return record.NewRecorder(w) }

// ReplayOptions are what [Replay] compares, and how it runs. The zero value compares
// what a plugin does to the world, and neither what it logs nor how it reads.
type ReplayOptions = record.Options

// ReplayReport is how a plugin compares with a recording.
type ReplayReport = record.Report

// ReplayDifference is one place in which a plugin does something else than what was
// recorded.
type ReplayDifference = record.Difference

// RecordingError says what is wrong with a recording, and in which line.
type RecordingError = record.FileError

// Replay runs the connections of a recording once more, with plugin as their
// transport and without any server, and says where it does something else. It runs
// those of a plugin that gives itself the same name. A recording that cannot be run
// is a [*RecordingError], and a plugin that cannot, [ErrPluginRefused].
func Replay(ctx context.Context, recording io.Reader, plugin []byte, o ReplayOptions) (*ReplayReport, error) {
	d, err := record.Replay(ctx, recording, plugin, o)
	if errors.As(err, new(*record.PluginError)) {
		return nil, &fault{kind: ErrPluginRefused, err: &PluginError{Plugin: "to replay", Op: "load", Err: err}}
	}
	return d, err
}

// hide keeps the secrets of an entry out of what is recorded.
func (h *Host) hide(s Server) {
	texts, named := secrets(s), namedSecrets(s)
	h.config.Trace.Hide(texts...)
	h.config.Trace.HideNamed(named...)
	h.config.Recorder.Hide(texts...)
	h.config.Recorder.HideNamed(named...)
	h.config.Record.Hide(texts...)
	h.config.Record.HideNamed(named...)
}

// hideRecent keeps what a sign-in has given out of what is recorded.
func (h *Host) hideRecent(texts ...string) {
	h.config.Recorder.HideRecent(texts...)
	h.config.Record.HideRecent(texts...)
}

// recorded has a connection recorded, if that is wanted; otherwise the take is nil.
func (d *dialer) recorded(c *guest.Config) *record.Take {
	if d.host.config.Record == nil {
		return nil
	}
	take := d.host.config.Record.Connect(d.server.Name, d.via, d.module.hash)
	c.Observer, c.Now, c.Random = take, take.Now, take
	return take
}
