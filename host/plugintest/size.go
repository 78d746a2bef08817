package plugintest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// carries returns how long a message may be, in bytes, and why; math.MaxInt where
// nothing is known to hinder it.
func (p *Profile) carries() (most int, why string) {
	most = math.MaxInt
	if p.Largest > 0 {
		most, why = p.Largest, "the profile says that the wire carries no more (largest)"
	}
	if p.Framing != "pattern" {
		return most, why
	}
	if n, ok := p.room(); ok && n < most {
		most, why = n, fmt.Sprintf("a length of %s says no more", p.Length)
	}
	return most, why
}

// room is how many bytes of a message fit into a frame because of its length, by what
// the server says; false where that is no limit, or a high one. What a group adds to a
// length is not known here.
func (p *Profile) room() (int, bool) {
	size := fixedSizes[lengthForm(p.Length)]
	if size == 0 || size > 2 {
		return 0, false
	}
	added := 0
	for _, text := range []string{p.Said, p.Noted} {
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			sum := 0
			for term := range strings.SplitSeq(m[1], "+") {
				n, _ := strconv.Atoi(term) // 0 for a name
				sum += n
			}
			added = max(added, sum)
		}
	}
	return 1<<(8*size) - 1 - added, true
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
