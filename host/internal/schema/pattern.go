package schema

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPatterns bounds the instructions of all patterns of a schema: their memory,
// and the price of each byte that is matched.
const maxPatterns = 20_000

// rangesPerInstruction: a class is one instruction, and searches its ranges.
const rangesPerInstruction = 64

// patterns compiles the patterns of one schema. The specification says ECMA-262. Here they are RE2,
// which covers most of that and takes linear time. A pattern that RE2 cannot compile, or that would
// exceed maxPatterns, is not compiled: it matches everything, and [Schema.limit] removes it.
type patterns struct {
	meter *meter
	known map[string]jsonschema.Regexp // by text: the library compiles each more than once
	size  int                          // of all so far
}

// compile is a [jsonschema.RegexpEngine].
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	if known := p.known[text]; known != nil {
		return known, nil
	}
	var re jsonschema.Regexp = unsupported{text, "cannot be read"}
	var wrong *syntax.Error
	switch tree, err := syntax.Parse(text, syntax.Perl); {
	case errors.As(err, &wrong) && wrong.Code == syntax.ErrInvalidRepeatSize:
		re = unsupported{text, "has a repetition that is too large, or the wrong way round"}
	case errors.As(err, &wrong) && wrong.Code == syntax.ErrLarge, err == nil && p.size+patternSize(tree) > maxPatterns:
		re = unsupported{text, "is too large, alone or with the others"}
	case err == nil:
		if compiled, err := regexp.Compile(text); err == nil {
			re = &pattern{Regexp: compiled, size: patternSize(tree), meter: p.meter}
			p.size += patternSize(tree)
		}
	}
	p.known[text] = re
	return re, nil
}

// pattern is a pattern that spends steps of the meter.
type pattern struct {
	*regexp.Regexp
	size  int
	meter *meter
}

// MatchString returns true if the meter is empty, because the result of that validation is not
// used.
func (p *pattern) MatchString(text string) bool {
	return !p.meter.spend(1+len(text)*p.size/matchedPerStep) || p.Regexp.MatchString(text)
}

// unsupported is a pattern that was not compiled, see [patterns].
type unsupported struct{ text, why string }

func (u unsupported) String() string        { return u.text }
func (unsupported) MatchString(string) bool { return true }

// patternSize returns about how many instructions a pattern takes. It is called before the pattern
// is compiled, because a short text such as ((a{100}){100}) may take many.
func patternSize(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	if tree.Op == syntax.OpCharClass {
		size = 1 + len(tree.Rune)/rangesPerInstruction
	}
	for _, sub := range tree.Sub {
		size += patternSize(sub)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1)
	}
	return size
}
