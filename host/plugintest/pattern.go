package plugintest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
)

// pattern is a framing that a profile describes.
type pattern struct{ profile *Profile }

func (p pattern) name() string { return "of the profile" }

func (p pattern) hear(_ *harness, heard []byte) (frame, error) {
	m := match(p.profile.sent, heard)
	if m == nil {
		if len(heard) > 4<<10 {
			return frame{}, fmt.Errorf("the guest wrote %s, expected what the profile describes (profile: sent)", short(heard))
		}
		return frame{}, nil
	}
	found := map[string]string{}
	capture(found, p.profile.sent, heard, m)
	n, err := p.length(found)
	if err != nil {
		return frame{}, err
	}
	tail := toBytes(p.profile.SentEnd)
	end := m[1] + n + len(tail)
	if len(heard) < end {
		return frame{}, nil
	}
	if got := heard[m[1]+n : end]; !bytes.Equal(got, tail) {
		return frame{}, fmt.Errorf("after a message stands %s, expected %q (profile: sentEnd)", short(got), tail)
	}
	return frame{heard[m[1] : m[1]+n], end, found}, nil
}

// length is that of the message which follows a match.
func (p pattern) length(vars map[string]string) (int, error) {
	n, err := lengthForm(p.profile.Length).read([]byte(vars["length"]))
	if err != nil {
		return 0, fmt.Errorf("the guest wrote %w (profile: sent, length)", err)
	}
	if more := len(vars["counted"]); n < more {
		return 0, fmt.Errorf("the guest wrote a length of %d, expected that it counts the %d bytes of %q (profile: sent, counted)", n, more, vars["counted"])
	}
	return n - len(vars["counted"]), nil
}

func (p pattern) say(message []byte, values, answers map[string]string) ([]byte, error) {
	values = maps.Clone(values)
	maps.Copy(values, answers)
	text := p.profile.Said
	if answers == nil {
		text = cmp.Or(p.profile.Noted, text)
	}
	values["message"] = string(message)
	if err := lengthForm(p.profile.Length).setLengths(text, len(message), values); err != nil {
		return nil, fmt.Errorf("to say a message: %w", err)
	}
	return expand(text, values), nil
}
