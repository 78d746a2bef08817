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
	m := match(p.profile.sent, heard)
	if m == nil {
		if len(heard) > 4<<10 {
			return nil, 0, fmt.Errorf("the guest wrote %s, expected what the profile describes (profile: sent)", short(heard))
		}
		return nil, 0, nil
	}
	vars := map[string]string{}
	capture(vars, p.profile.sent, heard, m)
	n, err := p.length(vars)
	if err != nil {
		return nil, 0, err
	}
	tail := latin(p.profile.SentEnd)
	end := m[1] + n + len(tail)
	if len(heard) < end {
		return nil, 0, nil
	}
	if got := heard[m[1]+n : end]; !bytes.Equal(got, tail) {
		return nil, 0, fmt.Errorf("behind a message stands %s, expected %q (profile: sentEnd)", short(got), tail)
	}
	p.last = vars
	return p.joined(heard[m[1]:m[1]+n], vars["more"] != ""), end, nil
}

// length is that of the message, or of the part of one, which begins behind a match.
func (p *pattern) length(vars map[string]string) (int, error) {
	n, err := number(p.profile.Length).read([]byte(vars["length"]))
	if err != nil {
		return 0, fmt.Errorf("the guest wrote %w (profile: sent, length)", err)
	}
	if more := len(vars["counted"]); n < more {
		return 0, fmt.Errorf("the guest wrote a length of %d, expected that it counts the %d bytes of %q (profile: sent, counted)", n, more, vars["counted"])
	}
	return n - len(vars["counted"]), nil
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

func (p *pattern) heard(exchange uint32) map[string]string {
	p.of[exchange] = p.last
	return p.last
}

func (p *pattern) say(exchange uint32, message []byte, vars map[string]string) ([]byte, error) {
	all := maps.Clone(vars)
	maps.Copy(all, p.of[exchange])
	text := p.profile.Said
	if p.of[exchange] == nil && p.profile.Noted != "" {
		text = p.profile.Noted
	}
	var out, frame []byte
	var err error
	for most := p.profile.PartSize; most > 0 && len(message) > most; message = message[most:] {
		if frame, err = p.frame(p.profile.Part, message[:most], all); err != nil {
			return nil, err
		}
		out = append(out, frame...)
	}
	if frame, err = p.frame(text, message, all); err != nil {
		return nil, err
	}
	return append(out, frame...), nil
}

// frame makes one of the server's.
func (p *pattern) frame(text string, part []byte, vars map[string]string) ([]byte, error) {
	p.said++
	vars["message"], vars["number"] = string(part), strconv.Itoa(p.said)
	if err := number(p.profile.Length).measure(text, len(part), vars); err != nil {
		return nil, fmt.Errorf("to say a message: %w", err)
	}
	return expand(text, vars), nil
}
