package plugintest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	Nonces   map[string]int    `json:"nonces"`   // bytes that the server makes up, by their names, and how many
	Upgrade  map[string]string `json:"upgrade"`  // headers of the 101, in which header.NAME is one of the request
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
	err := d.Decode(p)
	if err == nil && d.More() {
		return nil, fmt.Errorf("line %d: expected nothing behind the profile", lineAt(text, d.InputOffset()))
	}
	if err == nil {
		err = p.compile()
	}
	if err != nil {
		return nil, located(text, err)
	}
	return p, nil
}

// mostNonce is how long a nonce may be, in bytes.
const mostNonce = 1 << 10

// compile checks the profile, and makes what is used often.
func (p *Profile) compile() error {
	if err := p.SignIn.compile(); err != nil {
		return err
	}
	given, err := p.given()
	if err != nil {
		return err
	}
	known, err := p.compileReplies(given)
	if err != nil {
		return err
	}
	if err := p.compileOpening(given); err != nil {
		return err
	}
	if p.Largest < 0 {
		return wrong("largest", "%d, expected a number of bytes", p.Largest)
	}
	if p.SaidOn < 0 {
		return wrong("saidOn", "%d, expected the number of a stream, the first is 1", p.SaidOn)
	}
	switch p.Framing {
	case "", "ndjson", "content-length", "websocket", "learned":
		return expects("taken", p.Taken, known)
	case "pattern":
		return p.compilePattern(known)
	}
	return wrong("framing", "%q, expected ndjson, content-length, websocket, learned or pattern", p.Framing)
}

// given are the names of what is known before anything was said: settings and nonces.
func (p *Profile) given() ([]string, error) {
	names := slices.Sorted(maps.Keys(p.Settings))
	for _, name := range slices.Sorted(maps.Keys(p.Nonces)) {
		switch n := p.Nonces[name]; {
		case n < 1 || n > mostNonce:
			return nil, wrong("nonces."+name, "%d, expected a number of bytes from 1 to %d", n, mostNonce)
		case slices.Contains(names, name):
			return nil, wrong("nonces."+name, "a setting is called so; expected another name")
		}
		names = append(names, name)
	}
	return names, nil
}

// compileReplies returns all names that the server can speak of: what is given, and
// what the groups of its rules find.
func (p *Profile) compileReplies(given []string) ([]string, error) {
	names := slices.Clone(given)
	for i := range p.Replies {
		field := fmt.Sprintf("replies[%d].to", i)
		found, err := p.Replies[i].compile(field)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if slices.Contains(given, name) {
				return nil, wrong(field, "the group %s has the name of a setting or a nonce; expected another one", name)
			}
		}
		names = append(names, found...)
	}
	for i, r := range p.Replies {
		if err := expects(fmt.Sprintf("replies[%d].to", i), r.To, names); err != nil {
			return nil, err
		}
		if err := expects(fmt.Sprintf("replies[%d].say", i), r.Say, names); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// compileOpening checks what is said before the guest has said anything.
func (p *Profile) compileOpening(given []string) error {
	for _, key := range slices.Sorted(maps.Keys(p.Upgrade)) {
		names := given
		for _, inside := range placeholders(p.Upgrade[key]) {
			f, _ := parseFormula(inside) // expects says what is wrong with it
			for _, name := range f.names() {
				if strings.HasPrefix(name, headerName) {
					names = append(names[:len(names):len(names)], name)
				}
			}
		}
		if err := expects("upgrade."+key, p.Upgrade[key], append(names[:len(names):len(names)], headerName+"NAME")); err != nil {
			return err
		}
	}
	return expects("greeting", p.Greeting, given)
}

// headerName is what the names of headers of a request begin with, in upgrade.
const headerName = "header."

// compilePattern is compile for what is of that framing alone.
func (p *Profile) compilePattern(known []string) (err error) {
	if !number(p.Length).known() {
		return wrong("length", "%q, expected decimal, hex, u8, u16be, u16le, u32be, u32le, u64be or u64le", p.Length)
	}
	if strings.Contains(p.Sent, "${") {
		return wrong("sent", "expected no ${…}: it stands in replies, and in what the server says")
	}
	flags := ""
	if number(p.Length).binary() {
		flags = "s" // a byte of a length can be a line feed
	}
	if p.sent, err = regexp.Compile(`(?` + flags + `:\A(?:` + p.Sent + `))`); err != nil {
		return wrong("sent", "%w", err)
	}
	switch {
	case p.sent.SubexpIndex("length") < 0:
		return wrong("sent", "expected a group called length, as in (?P<length>\\\\d+)")
	case !strings.Contains(p.Said, "${message}"):
		return wrong("said", "expected ${message} in it")
	case p.PartSize < 0, p.PartSize > 0 && !strings.Contains(p.Part, "${message}"):
		return wrong("partSize", "expected a number of bytes, and ${message} in part")
	case p.PartSize == 0 && p.Part != "":
		return wrong("part", "expected partSize beside it, which says how many bytes of a message it has room for")
	}
	taken := slices.Concat(groups(p.sent), known)
	if err := expects("taken", p.Taken, taken); err != nil {
		return err
	}
	names := append([]string{"message", "length", "number"}, taken...)
	for _, text := range []struct{ field, text string }{{"said", p.Said}, {"noted", p.Noted}, {"part", p.Part}} {
		if err := expects(text.field, text.text, names); err != nil {
			return err
		}
	}
	return nil
}

// orNone is the profile, or one that says nothing.
func (p *Profile) orNone() *Profile {
	if p == nil {
		return &Profile{}
	}
	return p
}

// headers are those of the 101 that answers a request.
func (p *Profile) headers(request []abi.Pair, known map[string]string) (list []abi.Pair) {
	known = maps.Clone(known)
	for _, h := range request {
		known[headerName+strings.ToLower(h.Key)] = h.Value
	}
	for _, key := range slices.Sorted(maps.Keys(p.Upgrade)) {
		list = append(list, abi.Pair{Key: key, Value: string(expand(p.Upgrade[key], known))})
	}
	return list
}
