package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

// standing is how it stands with a server, as programs read it. Members are added
// to it, and never renamed or removed.
type standing struct {
	Name      string      `json:"name"`
	Enabled   bool        `json:"enabled"`
	State     host.State  `json:"state"`
	Reason    host.Reason `json:"reason"`
	Since     time.Time   `json:"since,omitzero"` // when the state began
	Transport string      `json:"transport"`      // the plugin that carries it
	Target    string      `json:"target"`
	Era       string      `json:"era,omitempty"`
	Protocol  string      `json:"protocol,omitempty"` // the revision
	Server    string      `json:"server,omitempty"`   // what it calls itself
	Version   string      `json:"version,omitempty"`
	Millis    float64     `json:"ms,omitempty"`    // of the newest ping
	Tools     *int        `json:"tools,omitempty"` // how many; none while that is not known
	Stale     bool        `json:"stale,omitempty"` // that number is from an earlier connection
	Attempt   int         `json:"attempt,omitempty"`
	Next      time.Time   `json:"next,omitzero"` // when it is tried again
	Error     string      `json:"error,omitempty"`
	Gone      bool        `json:"gone,omitempty"` // the configuration has it no more
}

// berth is a server on the board.
type berth struct {
	standing
	told    standing      // what was said of it last
	session *host.Session // nil: it cannot be had
	entry   *host.Server  // of it; nil with it

	checked time.Time // the beginning of the connection that was looked at last
	looking bool      // that goes on
	settled bool      // there will be no other state soon
}

// set takes a status over.
func (b *berth) set(s host.Status) {
	b.State, b.Reason, b.Since = s.State, s.Reason, s.Since
	b.Era, b.Protocol, b.Stale = s.Era, s.Protocol, s.Stale
	b.Millis = math.Round(float64(s.Latency)/float64(time.Microsecond)) / 1000
	if s.Transport != "" {
		b.Transport = s.Transport
	}
	if s.Tools > 0 || b.Tools != nil { // 0 may also be that nobody has asked
		b.Tools = &s.Tools
	}
	b.Attempt, b.Next, b.Error = s.Attempt, s.Next, ""
	if s.Err != nil && s.State != host.StateConnected {
		b.Error = b.reason(s.Err)
	}
	switch s.State {
	case host.StateFailed, host.StateAuthRequired, host.StateDisabled:
		b.settled = true
	case host.StateConnected:
		i := b.session.Info()
		b.Server, b.Version = i.Server.Name, i.Server.Version
	}
}

// seen takes over what a look found.
func (b *berth) seen(err error) {
	b.set(b.session.Status())
	b.looking, b.settled = false, true
	if err != nil {
		b.Error = b.reason(err)
	}
}

// fail says that there is no such server to be had.
func (b *berth) fail(reason host.Reason, err error) {
	b.State, b.Reason, b.Error, b.settled, b.Tools = host.StateFailed, reason, b.reason(err), true, nil
}

// reason is an error in the row of its server, which need not be named again.
func (b *berth) reason(err error) string {
	return strings.TrimPrefix(err.Error(), "connect "+b.Name+": ")
}

// cells is the row for people.
func (b *berth) cells() []string {
	latency, tools := "", ""
	if b.Millis > 0 {
		latency = fmt.Sprintf("%.3g ms", b.Millis)
	}
	if b.Tools != nil {
		tools = fmt.Sprint(*b.Tools)
	}
	if b.Stale {
		tools += " (old)"
	}
	about := b.Error
	if about == "" && b.Server != "" {
		about = b.Server + " " + b.Version
	}
	return []string{plain.Line(b.Name), b.State.String(), plain.Line(b.Transport), b.Era, plain.Line(b.Protocol), latency, tools, plain.Line(about)}
}

var boardHeadings = []string{"SERVER", "STATE", "TRANSPORT", "ERA", "PROTOCOL", "LATENCY", "TOOLS", "ABOUT"}

// look asks a connected server what only it can tell: how long it takes to answer,
// and which tools it has. Each has the timeout of a request.
func look(ctx context.Context, s *host.Session) error {
	if err := s.Ping(ctx); err != nil {
		return err
	}
	_, err := s.ListTools(ctx)
	if errors.Is(err, host.ErrUnsupported) {
		return nil
	}
	return err
}

// absentError is the end of a look at servers that did not find all of them.
type absentError struct{ absent, of int }

func (e *absentError) Error() string {
	return fmt.Sprintf("%d of %d enabled servers are not connected", e.absent, e.of)
}

// Is makes it one of those errors that end with the exit code for servers that
// cannot be reached.
func (e *absentError) Is(target error) bool { return target == host.ErrUnreachable }
