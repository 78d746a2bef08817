package plugintest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

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
	// something; what stands behind it; and how the server says one. Where a length
	// counts more than the message, a group called counted has found that.
	Length  string `json:"length"` // how lengths are written; empty = decimal
	Sent    string `json:"sent"`
	SentEnd string `json:"sentEnd"`
	Said    string `json:"said"`
	Noted   string `json:"noted"` // what belongs to no exchange; empty = as in Said

	// Part is how the server says a part of a message that goes on in the next frame,
	// and PartSize how many bytes of a message a frame has room for.
	Part     string `json:"part"`
	PartSize int    `json:"partSize"`

	Sealed string `json:"sealed"` // what an auth provider has given; empty = nothing
	Taken  string `json:"taken"`  // what the server says when it has a message
	SaidOn int    `json:"saidOn"` // the stream that it says messages on, from 1; 0 = the one that was opened last

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
	var said []string // what rules can speak of
	for i := range p.Replies {
		if p.Replies[i].to, err = regexp.Compile(`\A(?:` + p.Replies[i].To + `)`); err != nil {
			return fmt.Errorf("replies: %w", err)
		}
		said = append(said, groups(p.Replies[i].to)...)
	}
	for i := range p.Replies {
		if err := expects("replies", p.Replies[i].Say, said); err != nil {
			return err
		}
	}
	if p.SaidOn < 0 {
		return fmt.Errorf("saidOn %d: expected the number of a stream, the first is 1", p.SaidOn)
	}
	switch p.Framing {
	case "", "ndjson", "content-length", "websocket", "learned":
		return expects("taken", p.Taken, said)
	case "pattern":
		return p.compilePattern(said)
	}
	return fmt.Errorf("framing %q: expected ndjson, content-length, websocket, learned or pattern", p.Framing)
}

// compilePattern is compile for what is of that framing alone.
func (p *Profile) compilePattern(names []string) (err error) {
	if !number(p.Length).known() {
		return fmt.Errorf("length %q: expected decimal, hex, u8, u16be, u16le, u32be, u32le, u64be or u64le", p.Length)
	}
	flags := ""
	if number(p.Length).binary() {
		flags = "s" // a byte of a length can be a line feed
	}
	if p.sent, err = regexp.Compile(`(?` + flags + `:\A(?:` + p.Sent + `))`); err != nil {
		return fmt.Errorf("sent: %w", err)
	}
	if p.sent.SubexpIndex("length") < 0 || !strings.Contains(p.Said, "${message}") {
		return fmt.Errorf("framing = pattern: expected a group called length in sent, and ${message} in said")
	}
	if (p.PartSize > 0) != strings.Contains(p.Part, "${message}") || p.PartSize < 0 {
		return fmt.Errorf("framing = pattern: expected partSize, in bytes, and ${message} in part, or neither")
	}
	taken := slices.Concat(groups(p.sent), names)
	names = append([]string{"message", "length", "number"}, taken...)
	return errors.Join(expects("taken", p.Taken, taken), expects("said", p.Said, names), expects("noted", p.Noted, names), expects("part", p.Part, names))
}

// orNone is the profile, or one that says nothing.
func (p *Profile) orNone() *Profile {
	if p == nil {
		return &Profile{}
	}
	return p
}

// headers are those of the 101.
func (p *Profile) headers() (list []abi.Pair) {
	for k, v := range p.Upgrade {
		list = append(list, abi.Pair{Key: k, Value: v})
	}
	return list
}

// answer returns what the first rule that fits says, and how much it is about.
func (p *Profile) answer(heard []byte, vars map[string]string) (n int, answer []byte, ok bool) {
	for i := range p.Replies {
		r := &p.Replies[i]
		m := match(r.to, heard)
		if m == nil || m[1] == 0 {
			continue
		}
		capture(vars, r.to, heard, m)
		return m[1], expand(r.Say, vars), true
	}
	return 0, nil, false
}
