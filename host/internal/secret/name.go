package secret

import (
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// named are parts of names of secrets, in lower case and without separators.
var named = []string{
	"token", "secret", "passw", "passphrase", "passcode", "credential", "authorization",
	"apikey", "accesskey", "privatekey", "signingkey", "cookie", "bearer", "jwt", "connectionstring",
}

// short holds names of secrets that must match as a whole: as parts they would match too many names.
var short = []string{"pass", "pwd", "pw", "otp", "auth", "key", "keys"}

// endings are ends of words in names of variables, flags and headers: APITOKEN and PGPASSWORD are secrets, TOKENIZER is not.
var endings = []string{
	"token", "secret", "password", "passwd", "passphrase", "passcode", "credential", "authorization", "apikey", "accesskey",
	"privatekey", "secretkey", "signingkey", "cookie", "bearer", "jwt",
}

// counting are words of names that tell how many tokens of a text something is.
var counting = []string{"max", "min", "num", "total", "input", "output", "prompt", "completion", "context", "budget", "thinking", "reasoning", "used", "n"}

// last holds last words of names of secrets: DB_PASS, githubPat.
var last = []string{"pass", "pwd", "pat"}

// harmless holds endings of names that describe a secret: how many tokens, of which type, from
// where.
var harmless = []string{"tokens", "count", "limit", "type", "name", "endpoint", "url", "uri", "server", "servers", "supported"}

// Key reports whether the name of a JSON member sounds secret. Messages should stay readable, so
// names of the protocol do not count: progressToken, maxTokens.
func Key(name string) bool {
	all := letters(name)
	if all == "progresstoken" {
		return false
	}
	ends := func(end string) bool { return strings.HasSuffix(all, end) }
	return !slices.ContainsFunc(harmless, ends) && (hasAny(all, named) || all == "auth" || slices.Contains(last, all) || all == "otp" || slices.Contains(last, lastWord(name)))
}

// Flag reports whether the name of a command-line flag, a variable or a header sounds secret. Unlike for [Key], --key and
// --auth count. --key-file, MAX_TOKENS and KEYBOARD do not.
func Flag(name string) bool {
	all := words(name)
	if name == "PWD" || len(all) == 0 { // a shell keeps its folder in PWD
		return false
	}
	ending := all[len(all)-1]
	switch {
	case slices.Contains(harmless, ending) && ending != "tokens", slices.Contains(describing, ending):
		return false
	case strings.HasSuffix(ending, "file"), strings.HasSuffix(ending, "path"):
		return false
	case ending == "tokens" && slices.ContainsFunc(all, func(word string) bool { return slices.Contains(counting, word) }):
		return false
	case letters(name) == "progresstoken":
		return false
	case strings.Contains(letters(name), "connectionstring"):
		return true
	}
	return slices.Contains(last, ending) || slices.ContainsFunc(all, func(word string) bool {
		return slices.Contains(short, word) || slices.ContainsFunc(endings, func(end string) bool {
			return strings.HasSuffix(word, end) || strings.HasSuffix(word, end+"s")
		})
	})
}

// Named reports whether a value is a secret by the name of its variable or header, or because it is the value of
// an Authorization. A value that only says where a secret is (a path, a url) or whether one is used (yes, no) is not.
func Named(name, value string) bool {
	all := words(name)
	switch {
	case strings.Trim(value, "${}") == "":
		return false
	case scheme.MatchString(value) && counts(value):
		return true
	case !Flag(name):
		return false
	}
	switch ending := all[len(all)-1]; {
	case ending == "pat" && strings.ContainsAny(value, "*?[](){}^|%\\ "): // a pattern
		return false
	case ending == "tokens" && strings.Trim(value, "0123456789_,. ") == "":
		return false
	case slices.ContainsFunc(all, isPassword): // which may look like anything
		return withoutNames(value) != "" && !yesOrNo.MatchString(value)
	}
	return counts(value)
}

// isPassword reports whether a word of a name is one for passwords.
func isPassword(word string) bool {
	return word == "pass" || word == "pwd" || word == "pw" || slices.ContainsFunc([]string{"password", "passwd", "passphrase", "passcode"}, func(end string) bool {
		return strings.HasSuffix(word, end)
	})
}

var (
	// scheme matches the value of an Authorization.
	scheme  = lazyregexp.New(`^(?i:bearer|basic|token) +\S+$`)
	yesOrNo = lazyregexp.New(`^(?i:true|false|yes|no|on|off)$`)
)

// lastWord returns the last word of a name in lower case: of DB_PASS, db-pass and dbPass that is pass.
func lastWord(name string) string {
	if all := words(name); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// words returns the words of a name in lower case, without numbers behind them: db and pass of DB_PASS_2, db-pass and
// dbPass.
func words(name string) (list []string) {
	begin := 0
	add := func(end int) {
		if word := strings.TrimRight(letters(name[begin:end]), "0123456789"); word != "" {
			list = append(list, word)
		}
		begin = end
	}
	for i := 1; i < len(name); i++ {
		if letters(name[i-1:i]) == "" || 'A' <= name[i] && name[i] <= 'Z' && 'a' <= name[i-1] && name[i-1] <= 'z' {
			add(i)
		}
	}
	add(len(name))
	return list
}

// letters returns the form of a name for comparing: ApiKey, api_key and API-KEY are equal.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		}
		return -1
	}, name)
}

func hasAny(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}
