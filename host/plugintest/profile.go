package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/abi"
)

// A Profile says how messages look on a wire that the kit does not know, and what
// a server of it says at first. README.md describes the file. In its texts a
// character up to U+00FF is a byte.
type Profile struct {
	Settings map[string]string `json:"settings"` // of the server entry
	Framing  string            `json:"framing"`  // ndjson, content-length, websocket, learned or pattern
	Upgrade  map[string]string `json:"upgrade"`  // headers of the 101
	Greeting string            `json:"greeting"` // what the server says first
	Replies  []Rule            `json:"replies"`  // what it answers before anything is taken for a message

	// Of the framing called pattern: what stands before a message of the guest, with
	// a group called length, or before a part of one, if a group called more has found
	// something; what stands behind it; and how the server says one.
	Sent    string `json:"sent"`
	SentEnd string `json:"sentEnd"`
	Said    string `json:"said"`
	Noted   string `json:"noted"` // what belongs to no exchange; empty = as in Said

	// Part is how the server says a part of a message that goes on in the next frame,
	// and PartSize how many bytes of a message a frame has room for.
	Part     string `json:"part"`
	PartSize int    `json:"partSize"`

	Largest int `json:"largest"` // bytes of the longest message that the wire carries; 0 = any

	SignIn *SignIn `json:"signIn"` // what is around an auth provider

	sent *regexp.Regexp
}

// A Rule is what a server answers to something that is no message.
type Rule struct {
	To  string `json:"to"`  // a regular expression; it is matched at the beginning
	Say string `json:"say"` // with $name for what a group has found

	to *regexp.Regexp
}

// ReadProfile reads a profile from a file.
func ReadProfile(file string) (*Profile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := parseProfile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

func parseProfile(text []byte) (*Profile, error) {
	p := &Profile{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, err
	}
	return p, p.compile()
}

// compile checks the profile, and makes what is used often.
func (p *Profile) compile() (err error) {
	if err := p.SignIn.compile(); err != nil {
		return err
	}
	switch p.Framing {
	case "", "ndjson", "content-length", "websocket", "learned":
	case "pattern":
		if p.sent, err = regexp.Compile(`\A(?:` + p.Sent + `)`); err != nil {
			return fmt.Errorf("sent: %w", err)
		}
		if p.sent.SubexpIndex("length") < 0 || !strings.Contains(p.Said, "${message}") {
			return fmt.Errorf("framing = pattern: expected a group called length in sent, and ${message} in said")
		}
		if (p.PartSize > 0) != strings.Contains(p.Part, "${message}") || p.PartSize < 0 {
			return fmt.Errorf("framing = pattern: expected partSize, in bytes, and ${message} in part, or neither")
		}
	default:
		return fmt.Errorf("framing %q: expected ndjson, content-length, websocket, learned or pattern", p.Framing)
	}
	for i := range p.Replies {
		if p.Replies[i].to, err = regexp.Compile(`\A(?:` + p.Replies[i].To + `)`); err != nil {
			return fmt.Errorf("replies: %w", err)
		}
	}
	return nil
}

// latin makes bytes of a text of the profile.
func latin(text string) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			out = append(out, string(r)...)
			continue
		}
		out = append(out, byte(r))
	}
	return out
}

func (p *Profile) greeting() []byte {
	if p == nil {
		return nil
	}
	return latin(p.Greeting)
}

func (p *Profile) upgrade() (list []abi.Pair) {
	if p == nil {
		return nil
	}
	for k, v := range p.Upgrade {
		list = append(list, abi.Pair{Key: k, Value: v})
	}
	return list
}

// answer returns what the first rule that fits says, and how much it is about.
func (p *Profile) answer(heard []byte, vars map[string]string) (n int, answer []byte, ok bool) {
	if p == nil {
		return 0, nil, false
	}
	for i := range p.Replies {
		r := &p.Replies[i]
		m := r.to.FindSubmatchIndex(heard)
		if m == nil || m[1] == 0 {
			continue
		}
		capture(vars, r.to, heard, m)
		return m[1], expand(r.Say, vars), true
	}
	return 0, nil, false
}

// capture keeps what the named groups of a match have found.
func capture(vars map[string]string, re *regexp.Regexp, p []byte, m []int) {
	for g, name := range re.SubexpNames() {
		if name != "" && m[2*g] >= 0 {
			vars[name] = string(p[m[2*g]:m[2*g+1]])
		}
	}
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{(\w+)\}`) })

// expand puts variables into a text. What they hold are bytes already.
func expand(text string, vars map[string]string) []byte {
	var out []byte
	for from := 0; ; {
		m := variable().FindStringSubmatchIndex(text[from:])
		if m == nil {
			return append(out, latin(text[from:])...)
		}
		out = append(out, latin(text[from:from+m[0]])...)
		out = append(out, vars[text[from+m[2]:from+m[3]]]...)
		from += m[1]
	}
}
