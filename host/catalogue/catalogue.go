// Package catalogue keeps on disk what servers have listed, so that their tools, prompts
// and resources are known before they are started, and while they are away.
//
// A [Store] has one file for each server entry. A file is a header, which is one line of
// JSON, and behind it the lists, byte for byte as the server wrote their elements:
//
//	{"version":1,"name":"files","info":{…},"lists":[{"kind":"tools","bytes":5120,"sha256":"…",…}],…}
//	[{"name":"read",…},{"name":"write",…}]
//
// The store is a cache. A file that cannot be used counts as missing, and when there are too
// many files the oldest are removed. Its contents are the words of a server: they deserve as
// much trust as the server, and are no newer than the file.
package catalogue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/status"
)

// Kind is one of the lists that servers have.
type Kind string

// The lists of a server.
const (
	Tools     Kind = "tools"
	Prompts   Kind = "prompts"
	Resources Kind = "resources"
	Templates Kind = "resourceTemplates"
)

// kinds lists the kinds of lists in the order of a file.
var kinds = []Kind{Tools, Prompts, Resources, Templates}

// Snapshot is what is known of one server.
type Snapshot struct {
	Name  string      // of its entry
	Info  status.Info // what the server said of itself
	Lists map[Kind]List

	// Divided says why clients of a gateway do not share the server; "" if they may.
	Divided string
}

// List is a list as a server gave it.
type List struct {
	// Items is a JSON array with the elements of all pages, each as the server wrote it. It is
	// never changed, and so may be shared.
	Items json.RawMessage

	Listed time.Time // when the server was asked
	Until  time.Time // the list stays fresh until then, as the server said; zero is not at all
}

// Hash returns the SHA-256 of the items in hexadecimal digits. Equal lists have equal hashes.
func (l List) Hash() string { return hash(l.Items) }

// Fresh reports whether the list can be used at the time now without asking again. The server has
// said so when it sent the list.
func (l List) Fresh(now time.Time) bool { return now.Before(l.Until) }

// Key identifies the server of an entry. It is a hash of all that decides which server answers, and
// for whom: an entry that was changed to another server, or to the credentials of another account,
// starts without a catalogue. Of credentials it has where they are found, and not what they are: a
// new token leads to the same server.
type Key string

// KeyOf returns the key of an entry whose variables have not been expanded.
func KeyOf(s config.Server) Key {
	text, err := json.Marshal([]any{s.Name, s.Via(), s.Command, s.Args, s.Dir, s.URL, s.Address, s.Strategy, s.Protocol, s.Settings, s.Auth.Provider, s.References()})
	if err != nil {
		panic(err) // texts can be marshalled
	}
	sum := sha256.Sum256(text)
	return Key(hex.EncodeToString(sum[:]))
}

// header is the first line of a file.
type header struct {
	Version int         `json:"version"`
	Name    string      `json:"name"`
	Info    status.Info `json:"info"`
	Lists   []listEntry `json:"lists"`

	Divided string `json:"divided,omitempty"`

	Handshake part `json:"handshake,omitzero"` // where Info.Raw is, behind the lists; older programs do not read that far
}

// listEntry describes one list. The lists follow the header in the order of their entries.
type listEntry struct {
	Kind Kind `json:"kind"`
	part
	Listed time.Time `json:"listed"`
	Until  time.Time `json:"until,omitzero"`
}

// part is a text behind the header.
type part struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func partOf(text []byte) part { return part{len(text), hash(text)} }

// cut takes the part off the front of rest.
func (p part) cut(rest []byte) (text, behind []byte, err error) {
	if p.Bytes < 0 || p.Bytes > len(rest) {
		return nil, nil, fmt.Errorf("has %d bytes, of which %d are there", p.Bytes, len(rest))
	}
	text, behind = rest[:p.Bytes:p.Bytes], rest[p.Bytes:]
	if hash(text) != p.SHA256 {
		return nil, nil, errors.New("has another hash than its header says")
	}
	return text, behind, nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxHandshake is the longest answer to the handshake that is kept, in bytes.
const maxHandshake = 4 << 20

const version = 1

// encode returns the file of a snapshot.
func encode(s *Snapshot) ([]byte, error) {
	h := header{Version: version, Name: s.Name, Info: s.Info, Lists: []listEntry{}, Divided: s.Divided}
	var lists []byte
	for _, kind := range kinds {
		if l, ok := s.Lists[kind]; ok {
			h.Lists = append(h.Lists, listEntry{kind, partOf(l.Items), l.Listed, l.Until})
			lists = append(lists, l.Items...)
		}
	}
	if raw := s.Info.Raw; len(raw) > 0 && len(raw) <= maxHandshake {
		h.Handshake = partOf(raw)
		lists = append(lists, raw...)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return append(append(text, '\n'), lists...), nil
}

// decode reads a file, strictly: it accepts only what encode could have written.
func decode(text []byte) (*Snapshot, error) {
	line, rest, ok := bytes.Cut(text, []byte("\n"))
	if !ok {
		return nil, errors.New("it has no header")
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, err
	}
	if h.Version != version {
		return nil, fmt.Errorf("it has version %d, this program reads %d", h.Version, version)
	}
	s := &Snapshot{Name: h.Name, Info: h.Info, Lists: make(map[Kind]List), Divided: h.Divided}
	for _, e := range h.Lists {
		if _, twice := s.Lists[e.Kind]; twice || !slices.Contains(kinds, e.Kind) {
			return nil, fmt.Errorf("it has a list of %q, or has it twice", e.Kind)
		}
		items, behind, err := e.cut(rest)
		if err != nil {
			return nil, fmt.Errorf("its list of %s %w", e.Kind, err)
		}
		l := List{Items: items, Listed: e.Listed, Until: e.Until}
		if err := strictjson.Valid(l.Items, 0); err != nil || l.Items[strictjson.Start(l.Items)] != '[' {
			return nil, fmt.Errorf("its list of %s is no JSON array", e.Kind)
		}
		s.Lists[e.Kind], rest = l, behind
	}
	if h.Handshake == (part{}) {
		return s, nil
	}
	raw, _, err := h.Handshake.cut(rest)
	if err == nil {
		err = strictjson.Valid(raw, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("its handshake %w", err)
	}
	s.Info.Raw = raw
	return s, nil
}
