package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// piece is a part of an expanded value: a text, or a secret that Resolve puts in later.
type piece struct {
	text    string
	secret  Reference
	written string // how the secret is meant in the file
	asks    string // the id of the question that it is the answer to; "" for none
	unset   string // the variable that is not set, and for which the file has no text; "" for none
}

func (p piece) isSecret() bool { return p.secret != Reference{} }

// joined returns a value in one text, with each secret as it is written in the file.
func joined(pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(p.text)
		if p.isSecret() {
			b.WriteString(p.written)
		}
	}
	return b.String()
}

// vars holds the functions that replace names in a value.
type vars struct {
	lookup func(string) (string, bool)
	inputs []Input

	optional   bool // ${?NAME} can be written
	noDefaults bool // no default can be written
	unsetTexts bool // a variable that is not set is what is written

	own    map[string]string // the variables that the entry gives its server, where these come first
	except string            // one of own that does not
	left   *int              // how many bytes of own may still be put into values
}

// maxOwn bounds what the variables of an entry can make of its other values. Arguments of a command are seldom
// more than a few KiB.
const maxOwn = 256 << 10

// vars returns how variables are replaced in the values of an entry. In one of another client, a variable
// that the entry itself sets comes before that of the environment.
func (s Server) vars(lookup func(string) (string, bool)) vars {
	left := maxOwn
	v := vars{lookup: lookup, inputs: s.Inputs, optional: s.keys.names == nil, noDefaults: s.noDefaults, unsetTexts: s.unsetTexts, left: &left}
	if s.ownEnv {
		v.own = s.Env
	}
	return v
}

// in returns v for a field. The value of a variable does not mean the variable itself.
func (v vars) in(field string) vars {
	v.except, _ = strings.CutPrefix(field, "env.")
	return v
}

// ofEntry returns the value of a variable that the entry itself sets, by the inside of ${…}. Variables in that
// value are those of the environment.
func (v vars) ofEntry(inner string) (value string, found bool, err error) {
	name, _, _ := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	if value, found = v.own[name]; !found || name == v.except {
		return "", false, nil
	}
	if *v.left -= len(value); *v.left < 0 {
		return "", true, fmt.Errorf("${%s} puts more than %d KiB into the values of the entry; write shorter ones", name, maxOwn>>10)
	}
	return value, true, nil
}

// split replaces the variables of one value. errs holds all mistakes in it.
func split(value string, v vars) (pieces []piece, errs []error) {
	text := func(s string) { pieces = append(pieces, piece{text: s}) }
	for {
		before, after, found := strings.Cut(value, "$")
		text(before)
		switch {
		case !found:
			return pieces, errs
		case strings.HasPrefix(after, "$"):
			text("$")
			value = after[1:]
		case !strings.HasPrefix(after, "{"):
			text("$")
			value = after
		default:
			inner, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return pieces, append(errs, errors.New(`"${" has no "}"; write ${NAME}, or $${ for the characters`))
			}
			value = rest
			if strings.HasPrefix(rest, "}") && isOwnText(inner+"}") { // the first brace is that of the default
				inner, value = inner+"}", rest[1:]
			}
			if inside, found, err := v.ofEntry(inner); err != nil {
				return pieces, append(errs, err)
			} else if found {
				outer := v
				outer.own = nil
				within, wrong := split(inside, outer)
				pieces, errs = append(pieces, within...), append(errs, wrong[:min(1, len(wrong))]...) // env has all of them
				continue
			}
			p, err := v.substitute(inner)
			p.written = "${" + inner + "}"
			if err != nil {
				errs = append(errs, err)
			}
			pieces = append(pieces, p)
		}
	}
}

// variable matches a name in a reference. Windows has names with parentheses.
var variable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_()]*$`)

// secretName matches the name of a secret in a reference.
var secretName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.@/-]{0,127}$`)

// substitute returns the replacement for the inside of ${…}.
func (v vars) substitute(inner string) (piece, error) {
	if name, ok := strings.CutPrefix(inner, "secret:"); ok {
		if !secretName.MatchString(name) {
			return piece{}, fmt.Errorf("${%s} names no secret; write ${secret:NAME}, with letters, digits, '_', '.', '@', '/' and '-'", inner)
		}
		return piece{secret: Reference{Secret: name}}, nil
	}
	if path, ok := strings.CutPrefix(inner, "file:"); ok {
		return fileSecret(path)
	}
	if id, ok := strings.CutPrefix(inner, "input:"); ok {
		at := slices.IndexFunc(v.inputs, func(in Input) bool { return in.ID == id })
		if at < 0 {
			return piece{asks: id}, fmt.Errorf("${%s} asks an editor for input; set a variable and write ${NAME}", inner)
		}
		return piece{secret: Reference{Secret: v.inputs[at].Secret}, asks: id}, nil
	}
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	if v.optional && !hasFallback {
		name = strings.TrimPrefix(name, "?")
	}
	name = strings.TrimPrefix(name, "env:")
	named, ownText := variable.MatchString(name), isOwnText(inner)
	switch {
	case !named && v.unsetTexts:
		return piece{text: "${" + inner + "}"}, nil
	case !named && v.optional && hubCommand.MatchString("${"+inner):
		return piece{}, errHubCommand
	case !named && v.noDefaults:
		return piece{}, fmt.Errorf("${%s} names no variable; write ${NAME}", inner)
	case !named:
		return piece{}, fmt.Errorf("${%s} names no variable; write ${NAME} or ${NAME:-default}", inner)
	case strings.Contains(fallback, "$") && !ownText:
		return piece{}, fmt.Errorf("the default of ${%s} holds a variable itself; write plain text", name)
	}
	text, set := v.lookup(name)
	p := piece{text: text}
	if !set && (fallback == "" || ownText) {
		p.unset = name
	}
	switch {
	case !set && v.unsetTexts && !hasFallback:
		p.text = "${" + inner + "}"
	case set && ownText:
	case hasFallback && text == "":
		p.text = fallback
	case !set && v.noDefaults:
		return p, fmt.Errorf("the variable %s is not set; set it", name)
	case !set && strings.HasPrefix(inner, "?"):
		return p, fmt.Errorf("the variable %s is not set; set it: ${%s} leaves out a whole variable or header, and no part of a text", name, inner)
	case !set:
		return p, fmt.Errorf("the variable %s is not set; set it, or write ${%s:-default}", name, name)
	}
	return p, nil
}

// isOwnText reports whether the default in ${NAME:-default} is a reference to NAME itself: $NAME, ${NAME} or ${env:NAME}.
// If NAME is not set, the value is that reference as a text, which is what Gemini CLI and Roo Code give their servers.
func isOwnText(inner string) bool {
	name, fallback, _ := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	return slices.Contains([]string{"$" + name, "${" + name + "}", "${env:" + name + "}"}, fallback)
}

// fileSecret returns the content of a file as a secret. "~" begins a path in the home folder.
func fileSecret(path string) (piece, error) {
	if path == "" {
		return piece{}, errors.New("${file:} names no file; write ${file:PATH}")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return piece{}, err
		}
		path = filepath.Join(home, rest)
	}
	return piece{secret: Reference{File: path}}, nil
}
