package plugintest

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
)

// pattern is a framing that a profile describes.
type pattern struct {
	profile *Profile
	last    map[string]string            // what the groups of sent have found
	of      map[uint32]map[string]string // the same, of calls that were heard
	parts   []byte                       // of a message of the guest that goes on
	said    int                          // frames of the server so far
}

func (p *pattern) name() string { return "of the profile" }

func (p *pattern) fresh() framing {
	return &pattern{profile: p.profile, of: map[uint32]map[string]string{}}
}

func (p *pattern) hear(_ *stage, heard []byte) ([]byte, int, error) {
	m := p.profile.sent.FindSubmatchIndex(heard)
	if m == nil {
		if len(heard) > 4<<10 {
			return nil, 0, fmt.Errorf("the guest wrote what the profile does not know: %s", short(heard))
		}
		return nil, 0, nil
	}
	vars := map[string]string{}
	capture(vars, p.profile.sent, heard, m)
	n, err := strconv.Atoi(vars["length"])
	if err != nil || n < 0 {
		return nil, 0, fmt.Errorf("the guest wrote a length of %q", vars["length"])
	}
	tail := latin(p.profile.SentEnd)
	end := m[1] + n + len(tail)
	if len(heard) < end {
		return nil, 0, nil
	}
	if !bytes.Equal(heard[m[1]+n:end], tail) {
		return nil, 0, fmt.Errorf("behind a message stands %s, expected %q", short(heard[m[1]+n:end]), p.profile.SentEnd)
	}
	p.last = vars
	return p.joined(heard[m[1]:m[1]+n], vars["more"] != ""), end, nil
}

// joined returns the message that ends with a part, or nil if it goes on.
func (p *pattern) joined(part []byte, more bool) []byte {
	if more || len(p.parts) > 0 {
		p.parts = append(p.parts, part...)
		part = p.parts
	}
	if more {
		return nil
	}
	p.parts = nil
	return part
}

func (p *pattern) heard(exchange uint32) { p.of[exchange] = p.last }

func (p *pattern) say(exchange uint32, message []byte, vars map[string]string) ([]byte, error) {
	all := maps.Clone(vars)
	maps.Copy(all, p.of[exchange])
	text := p.profile.Said
	if p.of[exchange] == nil && p.profile.Noted != "" {
		text = p.profile.Noted
	}
	var out []byte
	for most := p.profile.PartSize; most > 0 && len(message) > most; message = message[most:] {
		out = append(out, p.frame(p.profile.Part, message[:most], all)...)
	}
	return append(out, p.frame(text, message, all)...), nil
}

// frame makes one of the server's.
func (p *pattern) frame(text string, part []byte, vars map[string]string) []byte {
	p.said++
	vars["message"], vars["length"], vars["number"] = string(part), strconv.Itoa(len(part)), strconv.Itoa(p.said)
	return expand(text, vars)
}
