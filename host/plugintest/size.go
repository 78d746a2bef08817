package plugintest

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// What a wire carries: not all have room for the longest messages of the kit.

// carries returns how long a message may be, in bytes, and why; math.MaxInt where
// nothing is known to hinder it.
func (p *Profile) carries() (most int, why string) {
	most = math.MaxInt
	if p == nil {
		return most, ""
	}
	if p.Largest > 0 {
		most, why = p.Largest, "the profile says that the wire carries no more (largest)"
	}
	if p.Framing != "pattern" {
		return most, why
	}
	if n, ok := p.room(); ok && n < most {
		most, why = n, fmt.Sprintf("a length of %s says no more, and messages stand in one frame", p.Length)
	}
	return most, why
}

// room is how many bytes of a message fit into a frame because of its length, where
// messages cannot go on in the next one; false where that is no limit, or not known.
func (p *Profile) room() (int, bool) {
	size := numbers[number(p.Length)]
	if size == 0 || size > 2 {
		return 0, false
	}
	most, limited := 1<<(8*size)-1, math.MaxInt
	if p.sent.SubexpIndex("more") < 0 {
		if n, ok := p.spans("counted"); ok {
			limited = most - n
		}
	}
	if p.PartSize == 0 {
		for _, text := range []string{p.Said, p.Noted} {
			if n, ok := p.adds(text); ok {
				limited = min(limited, most-n)
			}
		}
	}
	return limited, limited < math.MaxInt
}

// adds is how much more than the message the lengths in a text count, or false where
// that depends on what a group finds.
func (p *Profile) adds(text string) (most int, ok bool) {
	for _, inside := range placeholders(text) {
		terms, found := strings.CutPrefix(inside, "length+")
		if !found {
			continue
		}
		sum := 0
		for term := range strings.SplitSeq(terms, "+") {
			n, err := strconv.Atoi(term)
			if err != nil {
				if n, ok = p.spans(term); !ok {
					return 0, false
				}
			}
			sum += n
		}
		most = max(most, sum)
	}
	return most, true
}

// spans is how much a group of sent can find, and nothing where there is no such group;
// false where it has no bound.
func (p *Profile) spans(group string) (int, bool) {
	re, err := syntax.Parse(p.Sent, syntax.Perl)
	if err != nil {
		return 0, false // compile has seen to it
	}
	if p.sent.SubexpIndex(group) < 0 {
		return 0, group == "counted"
	}
	return longest(captureOf(re, group))
}

// captureOf finds the group of that name, or nil.
func captureOf(re *syntax.Regexp, name string) *syntax.Regexp {
	if re.Op == syntax.OpCapture && re.Name == name {
		return re
	}
	for _, sub := range re.Sub {
		if found := captureOf(sub, name); found != nil {
			return found
		}
	}
	return nil
}

// longest is how many bytes an expression can find at most; false where it has no bound.
func longest(re *syntax.Regexp) (n int, ok bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, true
	case syntax.OpStar, syntax.OpPlus:
		return 0, false
	}
	for _, sub := range re.Sub {
		size, ok := longest(sub)
		if !ok {
			return 0, false
		}
		if re.Op == syntax.OpAlternate {
			n = max(n, size)
		} else {
			n += size
		}
	}
	if re.Op == syntax.OpRepeat {
		return n * re.Max, re.Max >= 0
	}
	return n, true
}

// usualHighWater is how much a host lets wait in a handle before it holds messages back.
const usualHighWater = 256 << 10

// within is the scenario with sizes for a wire that carries so much: what it fills, its
// cap, and what the host lets wait, are brought down in the same proportion. False where
// there are messages in it that are too long as they stand.
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

// sized is a scenario for the wire of this plugin, and what is to be said of that; or
// nil, and why it cannot be played.
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

// inWords is a size for people.
func inWords(n int) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
