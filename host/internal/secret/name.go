package secret

import "strings"

// named are parts of names whose values are secret wherever they stand, in
// lower case and without what separates words.
var named = []string{
	"token", "secret", "passw", "passphrase", "passcode", "credential", "authorization",
	"apikey", "accesskey", "privatekey", "signingkey", "cookie", "bearer", "jwt",
}

// short are whole names like them, which as parts would fit too much.
var short = []string{"pass", "pwd", "otp", "auth"}

// harmless are the ends of names that only speak of a secret: how many tokens,
// of which type, from where.
var harmless = []string{"tokens", "count", "limit", "type", "name", "endpoint", "url", "uri", "server", "servers", "supported"}

// Key reports whether a member of a JSON object is called like a secret. It is
// for text that people want to read all the same, so that it spares the names
// of the protocol: progressToken is no secret, nor is maxTokens.
func Key(name string) bool {
	name = letters(name)
	if name == "progresstoken" {
		return false
	}
	for _, end := range harmless {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	return hasAny(name, named) || isAny(name, short)
}

// Flag reports whether a flag of a command line is called like a secret. Its
// maker chose the name, and nothing is lost where one is hidden that is none, so
// this is guessed widely: --key and --authfile are.
func Flag(name string) bool {
	return hasAny(letters(name), named) || hasAny(letters(name), []string{"key", "auth"})
}

// letters returns a name as it is compared: ApiKey, api_key and API-KEY alike.
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
	for _, part := range parts {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func isAny(name string, names []string) bool {
	for _, other := range names {
		if name == other {
			return true
		}
	}
	return false
}
