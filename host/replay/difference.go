package replay

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// The ways in which a plugin can differ from a recording.
const (
	Changed = "changed" // a host call has other arguments or bytes
	Extra   = "extra"   // a host call is not in the recording
	Missing = "missing" // a host call of the recording is not made
	Result  = "result"  // an event returns something else
	Stopped = "stopped" // an event returns in only one of the two
)

// Difference is one place where a plugin behaves differently than in the recording. Its texts
// are lines of a call trace, see package abi.
type Difference struct {
	Server     string   `json:"server"`
	Connection int      `json:"connection"`
	Event      int      `json:"event"` // from 1, in its connection
	Kind       string   `json:"kind"`
	Want       string   `json:"want,omitempty"` // what was recorded
	Got        string   `json:"got,omitempty"`
	Before     []string `json:"before"` // up to eight lines that led to it
}

// Summary counts one kind of difference.
type Summary struct {
	Kind  string `json:"kind"`
	What  string `json:"what"` // the host call, or the event
	Count int    `json:"count"`
}

// Report is the result of a replay.
type Report struct {
	Plugin      string      `json:"plugin"` // the name in its manifest
	SHA256      string      `json:"sha256"`
	Same        bool        `json:"same"`        // there are no differences
	SameFile    bool        `json:"same_file"`   // the file of the plugin is the one that was recorded
	Connections int         `json:"connections"` // that were replayed
	Others      int         `json:"others"`      // of other plugins, which were not replayed
	Events      int         `json:"events"`
	Calls       int         `json:"calls"`      // that were compared
	Skipped     int         `json:"skipped"`    // events after the end of their guest
	Incomplete  bool        `json:"incomplete"` // the recording lacks its end or a part
	First       *Difference `json:"first,omitempty"`
	Differences []Summary   `json:"differences"` // all, the most frequent first
}

// tally counts differences during a replay. A key is a Summary whose Count is 0.
type tally map[Summary]int

// summaries returns what was counted.
func (t tally) summaries() []Summary {
	list := []Summary{}
	for s, n := range t {
		s.Count = n
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.What, b.What), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// same reports whether got, a call of the replay, is the recorded call c.
func (c *call) same(got *call) bool {
	if c.op != got.op {
		return false
	}
	if c.op == abi.CallOpen { // requests may be in different encodings
		x, y := openRequest(c.bytes), openRequest(got.bytes)
		return c.args[0] == got.args[0] && c.args[1] == got.args[1] && (sameBytes(x, y, c.masked) || sameBytes(x, maskOpen(y), true))
	}
	if c.describes() && got.describes() {
		return sameManifest(c.bytes, got.bytes)
	}
	return c.args == got.args && (c.hidden || !carries(c.op) || sameBytes(c.bytes, got.bytes, c.masked))
}

// sameBytes compares bytes. If they are masked, an asterisk on either side fits any byte.
func sameBytes(a, b []byte, masked bool) bool {
	if len(a) != len(b) || !masked {
		return bytes.Equal(a, b)
	}
	for i := range a {
		if a[i] != b[i] && a[i] != redact.Star && b[i] != redact.Star {
			return false
		}
	}
	return true
}

// sameManifest compares manifests without the texts for people, which have another version in
// every build.
func sameManifest(a, b []byte) bool {
	x, errX := abi.DecodeManifest(a)
	y, errY := abi.DecodeManifest(b)
	if errX != nil || errY != nil {
		return bytes.Equal(a, b)
	}
	for _, m := range []*abi.Manifest{&x, &y} {
		m.Version, m.Summary = "", ""
		for i := range m.Settings {
			m.Settings[i].Value = ""
		}
	}
	return bytes.Equal(abi.AppendManifest(nil, &x), abi.AppendManifest(nil, &y))
}

// shownBytes bounds how many bytes of a call are shown.
const shownBytes = 160

// line returns a call as a line of a call trace.
func (c *call) line() string {
	if c.op == abi.CallOpen {
		if r, err := abi.DecodeOpenRequest(c.bytes); err == nil {
			return string(abi.AppendOpen(nil, abi.OpenKind(c.args[0]), c.args[1], &r, c.result))
		}
	}
	return string(abi.AppendCall(nil, c.op, c.params(), c.result))
}

// lines returns a line of the call trace, followed by the bytes of the call from an offset on.
func (c *call) lines(from int) string {
	text := c.line()
	if len(c.bytes) == 0 || c.op == abi.CallOpen {
		return text
	}
	from = max(0, min(from, len(c.bytes)))
	part := c.bytes[from:min(len(c.bytes), from+shownBytes)]
	text += "\n    | "
	if from > 0 {
		text += "… "
	}
	text = string(strconv.AppendQuote([]byte(text), string(part)))
	if from+len(part) < len(c.bytes) {
		text += " …"
	}
	return text
}

// apart returns the offset from which to show the bytes of two calls: a little before
// their first difference.
func apart(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n < shownBytes/2 {
		return 0
	}
	return n - shownBytes/4
}

// line returns an event as a line of a call trace.
func (s *step) line() string {
	return string(abi.AppendEvent(nil, s.kind, s.handle, s.arg, uint32(s.size)))
}
