package status

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/status"
	"github.com/wharf-mcp/wharf/host/trust"
)

// State is the state of a server as it is shown: that of [status.State], or one of these.
type State string

// The states of a server that came with a project and may not be used.
const (
	Unapproved State = "unapproved" // it waits for the user's approval
	Denied     State = "denied"     // the user has denied it
)

func stateOf(s status.State, err error) State {
	switch {
	case s != status.Failed || !errors.As(err, new(*trust.UnapprovedError)):
		return State(s.String())
	case IsDenied(err):
		return Denied
	}
	return Unapproved
}

// IsDenied reports whether an error says that the user has denied a server of a project.
func IsDenied(err error) bool {
	var refused *trust.UnapprovedError
	return errors.As(err, &refused) && refused.Approval.State == trust.Denied
}

// connected is the state of a server that can be used.
var connected = State(status.Connected.String())

// Info is the state of a server, as programs read it. Members are added to it, and
// never renamed or removed.
type Info struct {
	Name      string        `json:"name"`
	Enabled   bool          `json:"enabled"`
	State     State         `json:"state"`
	Reason    status.Reason `json:"reason"`
	Since     time.Time     `json:"since,omitzero"` // when the state began
	Transport string        `json:"transport"`      // the plugin that carries it
	Target    string        `json:"target"`
	Era       string        `json:"era,omitempty"`
	Protocol  string        `json:"protocol,omitempty"` // the revision
	Server    string        `json:"server,omitempty"`   // what it calls itself
	Version   string        `json:"version,omitempty"`
	Millis    float64       `json:"ms,omitempty"`        // of the newest ping
	Tools     *int          `json:"tools,omitempty"`     // how many; absent while that is not known
	Permitted *int          `json:"permitted,omitempty"` // how many of them the entry permits; absent if that is all, or not known
	Stale     bool          `json:"stale,omitempty"`     // that number is from an earlier connection
	Divided   string        `json:"divided,omitempty"`   // why each client of bridge or serve has a copy of it; "" while they may share one
	Attempt   int           `json:"attempt,omitempty"`
	Next      time.Time     `json:"next,omitzero"` // when it is tried again
	Error     string        `json:"error,omitempty"`
	Gone      bool          `json:"gone,omitempty"` // the configuration no longer has it
}

// row is the row of one server in the view.
type row struct {
	Info
	brief   string        // Error for people
	told    Info          // what was printed of it last
	session *host.Session // nil: its entry cannot be used
	entry   *host.Server  // as it is used; nil = it never could be

	listed *int // how many tools it had at its last check; nil = it is not known, or the check failed
	usable int  // how many of them its entry permits

	checkedSince time.Time // the beginning of the connection that was checked last
	checking     bool      // a check is under way
	checkError   error     // of the check before, which counts as long as its connection
	final        bool      // the state will not change soon
}

// set takes a status of the server into the row.
func (r *row) set(s status.Status) {
	r.State, r.Reason, r.Since = stateOf(s.State, s.Err), s.Reason, s.Since
	r.Era, r.Protocol, r.Stale = s.Era, s.Protocol, s.Stale
	r.Millis = math.Round(float64(s.Latency)/float64(time.Microsecond)) / 1000
	if s.Transport != "" {
		r.Transport = s.Transport
	}
	known := s.Tools > 0 || r.Tools != nil && r.isListed() // 0 may also say that the list was not asked for
	if r.Tools = nil; known {
		r.Tools = &s.Tools
	}
	r.count()
	r.Attempt, r.Next, r.Error, r.brief = s.Attempt, s.Next, "", ""
	if s.Err != nil && s.State != status.Connected {
		r.because(s.Err)
	}
	switch s.State {
	case status.Failed, status.AuthRequired, status.Disabled:
		r.final = true
	case status.Connected:
		i := r.session.Info()
		r.Server, r.Version = i.Server.Name, i.Server.Version
		if known := r.session.Snapshot(); known != nil {
			r.Divided = known.Divided
		}
		if r.checkError != nil && r.checkedSince.Equal(s.Since) {
			r.because(r.checkError)
		}
	}
}

// isListed reports whether a list of tools is known of the server. Of one whose entry was changed it is not, until the
// server has listed them anew.
func (r *row) isListed() bool { return !r.session.Known().Tools.At.IsZero() }

// checked takes the result of a check into the row. tools is how many tools the server listed.
func (r *row) checked(tools int, err error) {
	r.set(r.session.Status())
	r.listed, r.usable = r.Tools, tools
	r.checking, r.final, r.checkError = false, true, err
	if err != nil {
		r.listed = nil
		r.because(err)
	}
	r.count()
}

// count says how many tools the entry permits, if the server has those of its last check.
func (r *row) count() {
	r.Permitted = nil
	if r.listed != nil && r.Tools != nil && *r.listed == *r.Tools && r.usable < *r.Tools {
		usable := r.usable
		r.Permitted = &usable
	}
}

// fail says that the entry of the server cannot be used.
func (r *row) fail(reason status.Reason, err error) {
	r.State, r.Reason, r.final, r.Tools = stateOf(status.Failed, err), reason, true, nil
	r.count()
	r.because(err)
}

// because sets the error of the row, which need not name its server again.
func (r *row) because(err error) {
	r.Error, r.brief = ofServer(r.Name, err), Brief(r.Name, err)
}

func ofServer(name string, err error) string {
	return strings.TrimPrefix(err.Error(), "connect "+name+": ")
}

// Brief returns the error of a server for a list of servers, for people. It leaves out the name
// of the server, and the server's stderr, which `wharf doctor` shows. For a server that wants a
// sign-in it returns how to sign in, and for one that is not approved it adds how to approve it.
func Brief(name string, err error) string {
	if hint := host.Hint(err); hint != "" && errors.Is(err, host.ErrLogin) {
		return hint
	}
	text, said, found := strings.Cut(ofServer(name, err), cleantext.Stderr)
	var unapproved *trust.UnapprovedError
	switch {
	case found && said != "":
		text += "; see `wharf doctor " + plain.ShellWord(name) + "`"
	case errors.As(err, &unapproved) && unapproved.Approval.State != trust.Denied:
		text += "; `wharf trust approve " + plain.ShellWord(name) + "` asks you"
	}
	return plain.Line(text)
}

// cells returns the cells of the row for people.
func (r *row) cells() []string {
	latency, tools := "", ""
	if r.Millis > 0 && !r.Stale {
		latency = fmt.Sprintf("%.3g ms", r.Millis)
	}
	if r.Tools != nil {
		tools = fmt.Sprint(*r.Tools)
		if r.Permitted != nil {
			tools = fmt.Sprintf("%d of %d", *r.Permitted, *r.Tools)
		}
	}
	if r.Stale {
		tools += " (old)"
	}
	about := r.brief
	if about == "" && r.Server != "" {
		about = r.Server + " " + r.Version
	}
	if r.brief == "" && r.Divided != "" {
		about = strings.TrimPrefix(about+"; clients do not share it: "+r.Divided, "; ")
	}
	return []string{plain.Line(r.Name), string(r.State), plain.Line(r.Transport), r.Era, plain.Line(r.Protocol), latency, tools, plain.Line(about)}
}

var headings = []string{"SERVER", "STATE", "TRANSPORT", "ERA", "PROTOCOL", "LATENCY", "TOOLS", "ABOUT"}

// check asks a connected server how long it takes to answer, and which tools it has. Each
// request has its own timeout.
func check(ctx context.Context, s *host.Session) (tools int, err error) {
	if err := s.Ping(ctx); err != nil {
		return 0, err
	}
	list, err := s.ListTools(ctx)
	if errors.Is(err, host.ErrUnsupported) {
		return 0, nil
	}
	return len(list), err
}

// AbsentError says how many enabled servers are not connected, or did not do what was asked.
type AbsentError string

func (e AbsentError) Error() string { return string(e) }

// Is makes the error one of servers that cannot be reached, which decides the exit code.
func (e AbsentError) Is(target error) bool { return target == host.ErrUnreachable }
