// Package words splits a line into words as a POSIX shell does, without its variables,
// patterns and operators: quotes and backslashes only.
package words

import "strings"

// ErrOpen says that a line ends within quotes, or with a backslash.
var ErrOpen error = openError("the line ends within quotes")

type openError string

func (e openError) Error() string { return string(e) }

// Is reports that every openError is [ErrOpen].
func (openError) Is(target error) bool { return target == ErrOpen }

// Split returns the words of a line. A "#" that begins a word begins a comment. Where the
// error is [ErrOpen] the words are those of the line as if it were closed.
func Split(line string) (words []string, err error) {
	words, _, err = split(line, nil)
	return words, err
}

// SplitAround is [Split] for a line that may have values with a syntax of their own, which stay as they are. For the
// beginning of a word and for what follows a "=" outside of quotes, value returns the length of such a value, or 0. The
// value begins at an offset of the line.
func SplitAround(line string, value func(line string, at int) int) (words []string, err error) {
	words, _, err = split(line, value)
	return words, err
}

// Last splits the beginning of a line. before are its words without the last. last is the last
// word, which may be empty or have an open quote, and begins is where it begins.
func Last(line string) (before []string, last string, begins int) {
	before, begins, _ = split(line, nil)
	if begins < len(line) && len(before) > 0 {
		before, last = before[:len(before)-1], before[len(before)-1]
	}
	return before, last, begins
}

// Escape writes a word so that [Split] and a POSIX shell read it as one.
func Escape(word string) string { return escapes.Replace(word) }

var escapes = strings.NewReplacer(" ", `\ `, "\t", "\\\t", "'", `\'`, `"`, `\"`, `\`, `\\`, "#", `\#`)

// split is [SplitAround], and says where the last word begins: at the end of the line if that has
// ended before. value may be nil.
func split(line string, value func(line string, at int) int) (words []string, begins int, err error) {
	var word strings.Builder
	begun := false // also by quotes with nothing in between
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		if !begun {
			begins = i
		}
		if value != nil && quote == 0 && (!begun || line[i-1] == '=') {
			if length := value(line, i); length > 0 {
				word.WriteString(line[i : i+length])
				begun = true
				i += length - 1
				continue
			}
		}
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && i+1 == len(line):
			return append(words, word.String()), begins, openError("the line ends with a backslash")
		case c == '\\' && quote == '"' && line[i+1] != '"' && line[i+1] != '\\':
			word.WriteByte(c) // only these two are escaped there
		case c == '\\':
			i++
			word.WriteByte(line[i])
			begun = true
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		case c == '#' && !begun:
			return words, len(line), nil
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	} else {
		begins = len(line)
	}
	if quote != 0 {
		err = ErrOpen
	}
	return words, begins, err
}
