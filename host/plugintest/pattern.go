package plugintest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"strings"
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
	n, err := p.profile.lengthForm().read([]byte(found["length"]))
	counted := found["counted"]
	switch n -= len(counted); {
	case err != nil:
		return frame{}, fmt.Errorf("the guest wrote %w (profile: sent, length)", err)
	case n < 0:
		return frame{}, fmt.Errorf("the guest wrote a length of %d, expected that it counts the %d bytes of %q (profile: sent, counted)", n+len(counted), len(counted), counted)
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

func (p pattern) say(message []byte, values, answers map[string]string) ([]byte, error) {
	values = maps.Clone(values)
	maps.Copy(values, answers)
	text := p.profile.Said
	if answers == nil {
		text = cmp.Or(p.profile.Noted, text)
	}
	values["message"] = string(message)
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		if m[1] != "length" && !strings.HasPrefix(m[1], "length+") {
			continue
		}
		length, err := p.profile.lengthForm().write(len(message) + added(m[1], values))
		if err != nil {
			return nil, fmt.Errorf("to say a message: %w", err)
		}
		values[m[1]] = string(length)
	}
	return expand(text, values), nil
}
