package args

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Blanks returns the expressions of a URI template (RFC 6570), with their braces. No URI has any.
func Blanks(template string) (blanks []string) {
	for _, found := range expression.FindAllStringSubmatch(template, -1) {
		blanks = append(blanks, found[0])
	}
	return blanks
}

var expression = lazyregexp.New(`\{[^{}]+\}`)

// operator says how the variables of an expression are written.
type operator struct {
	first, between string
	named          bool   // name=value
	empty          string // behind the name of an empty value
	reserved       bool   // letters that mean something in a URI stay as they are
}

var operators = map[byte]operator{
	'+': {"", ",", false, "", true},
	'#': {"#", ",", false, "", true},
	'.': {".", ".", false, "", false},
	'/': {"/", "/", false, "", false},
	';': {";", ";", true, "", false},
	'?': {"?", "&", true, "=", false},
	'&': {"&", "&", true, "=", false},
}

// Expand returns the URI of a template and its variables, each of which is one text. Those of a query may be left out;
// another that lacks a value is a usage error, and so is a value of no variable.
func Expand(template string, values map[string]string) (string, error) {
	used, missing := make(map[string]bool), ""
	uri := expression.ReplaceAllStringFunc(template, func(blank string) string {
		text, op := blank[1:len(blank)-1], operator{between: ","}
		if known, found := operators[text[0]]; found {
			text, op = text[1:], known
		}
		var parts []string
		for name := range strings.SplitSeq(text, ",") {
			name, length := variable(name)
			value, given := values[name]
			switch used[name] = true; {
			case given && op.named && value == "":
				parts = append(parts, name+op.empty)
			case given && op.named:
				parts = append(parts, name+"="+escape(cut(value, length), op.reserved))
			case given:
				parts = append(parts, escape(cut(value, length), op.reserved))
			case !op.named && missing == "":
				missing = name
			}
		}
		if len(parts) == 0 {
			return ""
		}
		return op.first + strings.Join(parts, op.between)
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !used[name] {
			return "", exit.Usage(fmt.Errorf("argument %q: the template has no variable of that name", plain.Clip(name, 40)+"=…"), "%s", Pairing(template))
		}
	}
	if missing != "" {
		return "", exit.Usage(fmt.Errorf("the variable %q of the template is missing", plain.Clip(plain.Line(missing), 40)), "%s", Pairing(template))
	}
	return uri, nil
}

// Pairing returns a hint with the values that a template takes: "write a=… b=… behind it".
func Pairing(template string) string {
	var pairs []string
	for _, blank := range Blanks(template) {
		for name := range strings.SplitSeq(strings.TrimLeft(blank[1:len(blank)-1], "+#./;?&"), ",") {
			name, _ = variable(name)
			if pair := plain.Clip(plain.Line(name), 40) + "=…"; !slices.Contains(pairs, pair) {
				pairs = append(pairs, pair)
			}
		}
	}
	return "write " + plain.Clip(strings.Join(pairs, " "), 200) + " behind it"
}

// variable returns the name of a variable of an expression, and how many letters its value may have; 0 is no bound.
func variable(text string) (name string, length int) {
	name, most, _ := strings.Cut(strings.TrimSuffix(text, "*"), ":")
	fmt.Sscan(most, &length)
	return name, length
}

func cut(value string, length int) string {
	if letters := []rune(value); length > 0 && length < len(letters) {
		return string(letters[:length])
	}
	return value
}

// escape writes what a URI cannot hold as %XX, and without reserved also what would mean something in it.
func escape(value string, reserved bool) string {
	var out strings.Builder
	for i := range len(value) {
		c := value[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0,
			reserved && (strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0 || escaped.MatchString(value[i:])):
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

var escaped = lazyregexp.New(`^%[0-9A-Fa-f]{2}`)
