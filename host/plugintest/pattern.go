package plugintest

import (
	"bytes"
	"fmt"
	"maps"
)

// pattern is a framing that a profile describes.
type pattern struct {
	profile *Profile
	last    map[string]string            // what the groups of sent have found
	of      map[uint32]map[string]string // the same, of calls that were heard
}

func (p *pattern) name() string { return "of the profile" }

func (p *pattern) fresh() framing {
	return &pattern{profile: p.profile, of: map[uint32]map[string]string{}}
}

func (p *pattern) hear(_ *harness, heard []byte) ([]byte, int, error) {
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
	tail := toBytes(p.profile.SentEnd)
	end := m[1] + n + len(tail)
	if len(heard) < end {
		return nil, 0, nil
	}
	if got := heard[m[1]+n : end]; !bytes.Equal(got, tail) {
		return nil, 0, fmt.Errorf("after a message stands %s, expected %q (profile: sentEnd)", short(got), tail)
	}
	p.last = vars
	return heard[m[1] : m[1]+n], end, nil
}

// length is that of the message which follows a match.
func (p *pattern) length(vars map[string]string) (int, error) {
	n, err := lengthForm(p.profile.Length).read([]byte(vars["length"]))
	if err != nil {
		return 0, fmt.Errorf("the guest wrote %w (profile: sent, length)", err)
	}
	if more := len(vars["counted"]); n < more {
		return 0, fmt.Errorf("the guest wrote a length of %d, expected that it counts the %d bytes of %q (profile: sent, counted)", n, more, vars["counted"])
	}
	return n - len(vars["counted"]), nil
}

func (p *pattern) heard(exchange uint32) map[string]string {
	p.of[exchange] = p.last
	return p.last
}

func (p *pattern) say(exchange uint32, message []byte, vars map[string]string) ([]byte, error) {
	values := maps.Clone(vars)
	maps.Copy(values, p.of[exchange])
	text := p.profile.Said
	if p.of[exchange] == nil && p.profile.Noted != "" {
		text = p.profile.Noted
	}
	values["message"] = string(message)
	if err := lengthForm(p.profile.Length).setLengths(text, len(message), values); err != nil {
		return nil, fmt.Errorf("to say a message: %w", err)
	}
	return expand(text, values), nil
}
