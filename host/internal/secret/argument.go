package secret

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Part is a part of a text that looks like a secret: text[Begin:End].
type Part struct {
	Begin, End int
	Name       string // what the secret is called: the name of its flag, variable, header or member
}

// headerFlags are flags whose value is a header.
var headerFlags = []string{"-H", "--header", "--headers"}

// Arguments returns the parts of the arguments of a command that look like secrets: at i those of
// args[i]. What is only the name of a variable does not count, nor does a path.
func Arguments(args []string) [][]Part {
	parts := make([][]Part, len(args))
	flag := "" // whose value the argument is
	for i, arg := range args {
		name := strings.TrimLeft(flag, "-")
		switch {
		case slices.Contains(headerFlags, flag):
			parts[i] = join(inHeader(arg, true), Text(arg))
		case (flag == "-u" || flag == "--user") && strings.Contains(arg, ":"):
			parts[i] = Text(arg)
			if user, password, _ := strings.Cut(arg, ":"); isMixed(password) {
				parts[i] = []Part{{len(user) + 1, len(arg), "password"}}
			}
		case flag == "-p" && hasUser(args) && isMixed(arg):
			parts[i] = []Part{{0, len(arg), "password"}}
		case Flag(name) && !strings.HasPrefix(arg, "-") && counts(arg):
			parts[i] = []Part{{0, len(arg), name}}
		default:
			parts[i] = Text(arg)
		}
		if flag = ""; strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") {
			flag = arg
		}
	}
	return parts
}

// hasUser reports whether a command line names a user, so that its -p is no port and no package.
func hasUser(args []string) bool {
	return slices.Contains(args, "-u") || slices.Contains(args, "--user")
}

// isMixed reports whether a word may be a password and is no number, port, group or package: it has
// letters and digits, and nothing of a path or an address.
func isMixed(word string) bool {
	letter := strings.ContainsAny(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz")
	return len(word) >= 6 && letter && strings.ContainsAny(word, "0123456789") && !strings.ContainsAny(word, ":/@ ") && counts(word)
}

// Text returns the parts of an argument or a url that look like secrets, whatever it is an argument
// of: NAME=value and NAME: value with a name that sounds secret, also in JSON and in a query, the
// password of a url, and tokens that begin as those of well-known services do.
func Text(text string) []Part {
	return join(inURLs(text), inJSON(text), inAssignments(text), inHeader(text, false), tokensIn(text))
}

// Replace returns a text with another text in the place of each part.
func Replace(text string, parts []Part, by func(p Part, value string) string) string {
	var b strings.Builder
	at := 0
	for _, p := range parts {
		b.WriteString(text[at:p.Begin])
		b.WriteString(by(p, text[p.Begin:p.End]))
		at = p.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// join returns all parts in order, without those that overlap one before them.
func join(lists ...[]Part) []Part {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b Part) int { return cmp.Or(a.Begin-b.Begin, b.End-a.End) })
	end := 0
	return slices.DeleteFunc(all, func(p Part) bool {
		if p.Begin < end || p.Begin == p.End {
			return true
		}
		end = p.End
		return false
	})
}

// describing are endings of names of options that say something about a secret, beside those of
// harmless: where it is, or of which kind.
var describing = []string{"file", "path", "dir", "folder", "mode", "method", "scheme", "header", "env", "var", "id", "ttl", "expiry", "timeout", "host", "port", "provider", "store", "scope", "scopes"}

var (
	// variables are names of variables, for Wharf and for a shell.
	variables = lazyregexp.New(`\$+\{[^{}]*(?:\$\{[^{}]*\})?\}|\$\([^()]*\)|\$[A-Z_][A-Z0-9_]*`)

	// plainValues are values of options that are no secrets though the name of the option sounds
	// secret: words for yes, no and ways to sign in, small numbers, paths, and urls, whose password
	// is looked for by itself.
	plainValues = lazyregexp.New(`^(?:(?i:true|false|yes|no|on|off|none|auto|oauth2?|basic|bearer|digest|keyring|prompt|\*+)|[0-9]{1,4}|` +
		`(?:~|\.\.?)/.*|[A-Za-z]:\\.*|/(?:home|Users|root|etc|run|var|tmp|opt|usr|mnt|app|srv|data|secrets?|dev)/.*|` +
		`[\w./~-]+\.(?:pem|key|json|crt|cer|p12|pfx|txt|env|ya?ml|toml|pub)|[A-Za-z][A-Za-z0-9+.-]*://.*)$`)
)

// counts reports whether the value of an option that sounds secret is a secret. It is not if
// nothing is left of it without the names of variables.
func counts(value string) bool {
	if plainValues.MatchString(value) {
		return false
	}
	left := withoutNames(value)
	return left != "" && !slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(left))
}

// withoutNames returns what is left of a value without the names of variables.
func withoutNames(value string) string {
	left := variables.ReplaceAllStringFunc(value, func(name string) string {
		if _, fallback, _ := strings.Cut(strings.TrimSuffix(name, "}"), ":-"); fallback != "" && !strings.HasPrefix(fallback, "$") {
			return name // it holds a value too
		}
		return ""
	})
	return strings.Trim(left, ` "'`)
}

var userInfo = lazyregexp.New(`([A-Za-z][A-Za-z0-9+.-]*)://([^\s/?#"'<>]*)@`)

// unescaped matches a url with a letter in its password that would have to be escaped, as it ends the host of a url.
// What stands before that letter is no port.
var unescaped = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#"'<>:@\[]*:([^\s/?#"'<>:@${},]*[^\s/?#"'<>:@${},0-9][^\s/?#"'<>:@${},]*[/?#][^\s"'<>@]*)@`)

// Unescaped reports whether a text has a url with a password that would have to be escaped. [url.Parse] takes a part of
// it for the port.
func Unescaped(text string) bool { return unescaped.MatchString(text) }

// inURLs returns the passwords of urls. Over HTTP, a user without a password is a token.
func inURLs(text string) (parts []Part) {
	for _, at := range userInfo.FindAllStringSubmatchIndex(text, -1) {
		begin, end := at[4], at[5]
		user, password, _ := strings.Cut(text[begin:end], ":")
		if password != "" {
			begin += len(user) + 1
		} else if !strings.HasPrefix(strings.ToLower(text[at[2]:at[3]]), "http") {
			continue
		}
		if counts(text[begin:end]) {
			parts = append(parts, Part{begin, end, "password"})
		}
	}
	for _, at := range unescaped.FindAllStringSubmatchIndex(text, -1) {
		parts = append(parts, Part{at[2], at[3], "password"})
	}
	return parts
}

var members = lazyregexp.New(`"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"`)

// inJSON returns the values of members whose names sound secret.
func inJSON(text string) (parts []Part) {
	for _, at := range members.FindAllStringSubmatchIndex(text, -1) {
		if name := text[at[2]:at[3]]; Flag(name) && counts(text[at[4]:at[5]]) {
			parts = append(parts, Part{at[4], at[5], name})
		}
	}
	return parts
}

// nextAssignment begins the assignment behind another one, as in the words that describe a database.
var nextAssignment = lazyregexp.New(`[&;\s]+[A-Za-z_][\w.-]*=`)

// assigned is a value among others. What ends it may be in the name of a variable.
var assigned = lazyregexp.New(`^(?:\$+\{[^{}]*(?:\$\{[^{}]*\})?\}|\$\([^()]*\)|[^&;,# \t\n"'}])*`)

// inAssignments returns the values of NAME=value. A value at the begin of the text, as in
// --env=NAME=value, may have blanks in it.
func inAssignments(text string) (parts []Part) {
	first := true // there is nothing but names and = before
	for from := 0; ; {
		at := strings.IndexByte(text[from:], '=')
		if at < 0 {
			return parts
		}
		equals := from + at
		name := text[from:equals]
		if i := strings.LastIndexFunc(name, notInName); i >= 0 {
			name, first = name[i+1:], false
		}
		from = equals + 1
		value := text[from:]
		if word := assigned.FindString(value); len(word) < len(value) && !first {
			value = word
		} else if next := nextAssignment.FindAllStringIndex(value, 1); next != nil {
			value = value[:next[0][0]]
		}
		value = strings.TrimRight(value, ";")
		if name = strings.TrimLeft(name, "-"); Flag(name) && counts(value) {
			parts = append(parts, Part{from, from + len(value), name})
			from += len(value)
		}
	}
}

// notInName reports whether a letter is not part of the name of an option or a variable.
func notInName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
}

var (
	header  = lazyregexp.New(`(?s)^(-H|--headers?=)?\s*([A-Za-z][A-Za-z0-9_-]*)\s*:(\s*)(\S.*)$`)
	version = lazyregexp.New(`^(?:v?[0-9]+[.][0-9.]*.*|/.*|[0-9]+|latest.*)$`)
)

// inHeader returns the value of NAME: value. Where the text need not be a header, a short value and
// what looks like the version of an image or a folder of a container are not taken for secrets.
func inHeader(text string, is bool) []Part {
	m := header.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	flag, name, blanks, value := m[1], m[2], m[3], m[4]
	is = is || flag+blanks != "" || len(value) >= 8 && !version.MatchString(value)
	if !is || !Flag(name) || !counts(value) {
		return nil
	}
	return []Part{{len(text) - len(value), len(text), name}}
}

// tokens matches tokens of well-known services by how they begin, after the rules of gitleaks.
// Their lengths change, so any from 16 letters on counts.
var tokens = lazyregexp.New(`(?:^|[^A-Za-z0-9])(` +
	`(?:gh[oprsu]_|github_pat_|glpat-|sk-|[rs]k_(?:live|test)_|xox[abceoprs]-|xapp-|lin_api_|ntn_|figd_|shpat_|dop_v1_|gsk_|pplx-|tvly-|pypi-|SG\.|AIza|GOCSPX-)[\w.-]{16,}|` +
	`(?:npm|hf)_[A-Za-z0-9]{30,}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+|` +
	`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*))`)

// tokensIn returns the tokens of well-known services. A word without a digit and a capital letter is
// a name.
func tokensIn(text string) (parts []Part) {
	for _, at := range tokens.FindAllStringSubmatchIndex(text, -1) {
		if strings.ContainsAny(text[at[2]:at[3]], "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			parts = append(parts, Part{at[2], at[3], "token"})
		}
	}
	return parts
}
