package plain

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
)

// How many columns foreign words may take within a row of our own.
const (
	NameColumns   = 40
	TargetColumns = 60
)

// Stderr stands in an error between why a server ended and what it wrote to its stderr.
const Stderr = "; its stderr:"

// Server describes a server to a person by its name and its target.
func Server(server host.Server) string {
	return fmt.Sprintf("%s (%s)", Name(server.Name, NameColumns), Name(Target(server), TargetColumns))
}

// Target describes how a server is reached: by its command line, url or address. It leaves out
// the environment and headers, where secrets belong, and hides anything elsewhere that looks
// like a secret.
func Target(server host.Server) string {
	switch {
	case server.Command != "":
		return commandLine(server.Command, server.Args)
	case server.URL != "":
		return withoutSecrets(server.URL)
	}
	return server.Address
}

// hidden stands for what is not shown.
const hidden = "***"

// commandLine joins a command and its arguments, without what looks like a secret: people put
// secrets there, though they should not.
func commandLine(command string, args []string) string {
	words := []string{Word(command)}
	for _, arg := range config.HideSecrets(args, hidden) {
		words = append(words, Word(arg))
	}
	return strings.Join(words, " ")
}

// mask hides a value, unless it is only the name of a variable.
func mask(value string) string {
	if strings.HasPrefix(value, "${") && strings.HasSuffix(value, "}") && !strings.Contains(value, ":-") {
		return value
	}
	return hidden
}

// Word quotes an argument where it would not read as one.
func Word(text string) string {
	if text == "" || strings.ContainsAny(text, " \t\n'\"") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// ShellWord quotes a word for a POSIX shell, so that a line which is printed as an example
// can be copied, whatever a server has put into it. Letters that do not show are written
// as escapes.
func ShellWord(text string) string {
	text = cleantext.Visible(text)
	if text != "" && !strings.ContainsFunc(text, needsQuotes) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// needsQuotes reports whether a letter may mean something to a shell.
func needsQuotes(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f || strings.ContainsRune("-_./:=,+@%", r))
}

// withoutSecrets hides what looks like a secret in a URL, and all values of its query, because the
// name of a value seldom tells whether it is a key. The URL may hold variables, so it is split as
// text.
func withoutSecrets(url string) string {
	address, query, asked := strings.Cut(url, "?")
	address = config.HideSecret(address, hidden)
	if !asked {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		parts[i] = name + "=" + mask(value)
	}
	return address + "?" + strings.Join(parts, "&")
}

// longestHost is the longest name that a machine can have, with a port (RFC 1035,
// 2.3.4).
const longestHost = 253 + len(":65535")

// Site returns the machine that an address leads to, and what is suspicious about it.
func Site(address string) (site, warning string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "" || len(u.Host) > longestHost:
		return "nowhere", "this is no address of the web."
	case strings.Contains(strings.ToLower(u.Host), "xn--") || strings.ContainsFunc(u.Host, func(r rune) bool { return r > 0x7f }):
		warning = "the name has letters that can look like others. Make sure that it is the one you know."
	case u.User != nil:
		warning = "what stands before the @ is not where it leads."
	case u.Scheme != "https":
		warning = "the connection to it is not encrypted."
	}
	return cleantext.Visible(u.Host), warning
}
