package plugintest

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"
)

// A formula is what stands between the braces of a ${…}: the name of something that
// is known, a text in single quotes, or a function of formulas. README.md lists the
// functions.
type formula struct {
	name string // of something known, or of the function
	text string // where there is no name
	args []formula
}

// A function makes bytes of bytes. It returns false where it cannot.
type function func(args []string) (string, bool)

// functions are all of them. They are few, and pure: a profile is data, and the same
// in every host that reads one.
var functions = func() map[string]function {
	all := map[string]function{
		"hex":         joined(func(s string) (string, error) { return hex.EncodeToString([]byte(s)), nil }),
		"unhex":       joined(func(s string) (string, error) { p, err := hex.DecodeString(s); return string(p), err }),
		"base64":      joined(func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil }),
		"unbase64":    joined(func(s string) (string, error) { p, err := base64.StdEncoding.DecodeString(s); return string(p), err }),
		"sha1":        joined(func(s string) (string, error) { p := sha1.Sum([]byte(s)); return string(p[:]), nil }),
		"sha256":      joined(func(s string) (string, error) { p := sha256.Sum256([]byte(s)); return string(p[:]), nil }),
		"hmac-sha1":   keyed(sha1.New),
		"hmac-sha256": keyed(sha256.New),
	}
	for form := range numbers {
		if form != "" {
			all["length-"+string(form)] = joined(func(s string) (string, error) { p, err := form.write(len(s)); return string(p), err })
		}
	}
	return all
}()

// joined is a function of all that it is given, put together.
func joined(do func(string) (string, error)) function {
	return func(args []string) (string, bool) {
		out, err := do(strings.Join(args, ""))
		return out, err == nil
	}
}

// keyed is a function of a key, and of all else put together.
func keyed(digest func() hash.Hash) function {
	return func(args []string) (string, bool) {
		if len(args) < 2 {
			return "", false
		}
		mac := hmac.New(digest, []byte(args[0]))
		mac.Write([]byte(strings.Join(args[1:], "")))
		return string(mac.Sum(nil)), true
	}
}

// parseFormula reads all of a text as one formula.
func parseFormula(text string) (formula, error) {
	f, rest, err := cutFormula(text)
	if rest = strings.TrimSpace(rest); err == nil && rest != "" {
		err = fmt.Errorf("expected nothing more at %q", rest)
	}
	return f, err
}

// cutFormula reads one from the beginning of a text.
func cutFormula(text string) (f formula, rest string, err error) {
	text = strings.TrimLeft(text, " ")
	if quoted, ok := strings.CutPrefix(text, "'"); ok {
		if f.text, rest, ok = strings.Cut(quoted, "'"); !ok {
			return f, "", fmt.Errorf("expected a ' behind %q", text)
		}
		f.text = string(latin(f.text))
		return f, rest, nil
	}
	end := strings.IndexAny(text, "(),' ")
	if end < 0 {
		end = len(text)
	}
	f.name, rest = text[:end], strings.TrimLeft(text[end:], " ")
	switch {
	case f.name == "":
		return f, "", fmt.Errorf("expected a name, a 'text' or a function at %q", text)
	case !strings.HasPrefix(rest, "("):
		return f, rest, nil
	case functions[f.name] == nil:
		return f, "", fmt.Errorf("there is no function %s; expected one of %s", f.name, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
	}
	rest, err = f.cutArgs(rest)
	return f, rest, err
}

// cutArgs reads what stands in the brackets behind the name of a function.
func (f *formula) cutArgs(text string) (rest string, err error) {
	rest = text
	for more := true; more; more = strings.HasPrefix(rest, ",") {
		var arg formula
		if arg, rest, err = cutFormula(rest[1:]); err != nil {
			return "", err
		}
		f.args, rest = append(f.args, arg), strings.TrimLeft(rest, " ")
	}
	rest, found := strings.CutPrefix(rest, ")")
	switch {
	case !found && rest == "":
		return "", fmt.Errorf("expected , or ) behind %q", text)
	case !found:
		return "", fmt.Errorf("expected , or ) at %q", rest)
	case strings.HasPrefix(f.name, "hmac-") && len(f.args) < 2:
		return "", fmt.Errorf("%s: expected a key and what it signs, as in %s(secret, nonce)", f.name, f.name)
	}
	return rest, nil
}

// value is what a formula comes to. It is false where something of it is not known,
// or not what a function can take.
func (f *formula) value(known map[string]string) (string, bool) {
	if f.name == "" {
		return f.text, true
	}
	if f.args == nil {
		value, ok := known[f.name]
		return value, ok
	}
	args := make([]string, len(f.args))
	for i := range f.args {
		var ok bool
		if args[i], ok = f.args[i].value(known); !ok {
			return "", false
		}
	}
	return functions[f.name](args)
}

// names lists all that has to be known.
func (f *formula) names() (list []string) {
	if f.name != "" && f.args == nil {
		return []string{f.name}
	}
	for i := range f.args {
		list = append(list, f.args[i].names()...)
	}
	return list
}
