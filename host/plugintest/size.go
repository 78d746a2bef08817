package plugintest

import (
	"fmt"
	"math"
	"slices"
)

// carries returns how long a message may be, in bytes, and why; math.MaxInt where
// nothing is known to hinder it. In a frame whose length has one or two bytes it is what
// these can say, by what the server says; what a group adds to it is not known here.
func (p *Profile) carries() (most int, why string) {
	most = math.MaxInt
	if p.Largest > 0 {
		most, why = p.Largest, "the profile says that the wire carries no more (largest)"
	}
	form := p.lengthForm()
	if p.Framing != "pattern" || form.size == 0 || form.size > 2 {
		return most, why
	}
	more := 0
	for _, m := range placeholder.FindAllStringSubmatch(p.Said+p.Noted, -1) {
		more = max(more, added(m[1], nil))
	}
	if room := 1<<(8*form.size) - 1 - more; room < most {
		most, why = room, fmt.Sprintf("a length of %s says no more", p.Length)
	}
	return most, why
}

// usualHighWater is how much a host lets wait in a handle before it holds messages back.
const usualHighWater = 256 << 10

// within returns the scenario with sizes for a wire that carries so much: what it fills,
// its cap, and what the host lets wait, are reduced in the same proportion. It is false if
// there are messages in it that are too long and not filled.
func (s *Scenario) within(most int) (*Scenario, bool) {
	if s.largest <= most {
		return s, true
	}
	if most < 1 {
		return nil, false
	}
	c := *s
	c.ratio = func(n int) int { return int(int64(n) * int64(most) / int64(s.largest)) }
	c.Cap, c.largest, c.Steps = c.ratio(s.Cap), 0, slices.Clone(s.drafts)
	for i := range c.Steps {
		before := c.Steps[i].Text
		if c.fill(&c.Steps[i]) != nil || c.Cap > 0 && c.Steps[i].Text == before && len(before) > c.Cap {
			return nil, false
		}
	}
	return &c, c.largest <= most
}

// sized returns a scenario as it fits the wire of this plugin, with a note for the report
// if sizes were changed; or nil, and why it cannot be played.
func (k *kit) sized(s *Scenario) (*Scenario, string) {
	most, why := k.options.Profile.carries()
	fit, ok := s.within(most)
	switch {
	case !ok:
		return nil, fmt.Sprintf("it has messages of more than %d bytes, and %s", most, why)
	case fit != s:
		return fit, fmt.Sprintf("played with messages of up to %d bytes: %s", most, why)
	}
	return s, ""
}

// room is a size that the wire of this plugin carries.
func (k *kit) room(n int) int {
	most, _ := k.options.Profile.carries()
	return min(n, most)
}

// inWords is a size as it is shown.
func inWords(n int) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
