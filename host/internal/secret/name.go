package secret

import (
	"slices"
	"strings"
)

// named are parts of names of secrets, in lower case and without separators.
var named = []string{
	"token", "secret", "passw", "passphrase", "passcode", "credential", "authorization",
	"apikey", "accesskey", "privatekey", "signingkey", "cookie", "bearer", "jwt", "connectionstring",
}

// short holds names of secrets that must match as a whole: as parts they would match too many names.
var short = []string{"pass", "pwd", "otp", "auth"}

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
	return !slices.ContainsFunc(harmless, ends) && (hasAny(all, named) || slices.Contains(short, all) || slices.Contains(last, lastWord(name)))
}

// Flag reports whether the name of a command-line flag or of a variable sounds secret. It guesses
// widely, because hiding a harmless value does no damage: --key and --authfile count.
func Flag(name string) bool {
	if name == "PWD" { // a shell keeps its folder there
		return false
	}
	return hasAny(letters(name), named) || hasAny(letters(name), []string{"key", "auth"}) || slices.Contains(last, lastWord(name))
}

// lastWord returns the last word of a name in lower case: of DB_PASS, db-pass and dbPass that is pass.
func lastWord(name string) string {
	begin := 0
	for i := 1; i < len(name); i++ {
		if letters(name[i-1:i]) == "" || 'A' <= name[i] && name[i] <= 'Z' && 'a' <= name[i-1] && name[i-1] <= 'z' {
			begin = i
		}
	}
	return letters(name[begin:])
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
