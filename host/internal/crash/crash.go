// Package crash recognises the common ways in which servers fail to start, from their output. It
// reads text and starts nothing.
package crash

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Start holds what is known of a process that did not become a server.
type Start struct {
	Server  string   // its name, as it is written in a configuration
	Program string   // the first word of its command
	Stderr  string   // what it wrote there, without secrets
	Stdout  []string // the first lines on its stdout that were no message, without secrets
	Fault   string   // what is wrong with the first of them, if that was to be a message
	Midway  bool     // it has begun a message on its stdout, and not ended it
	OtherID string   // an id that it answered with, and that no request has
	Runs    bool     // it was waited for, and had not ended
	Exited  bool     // it ended by itself
	Clean   bool     // with status 0
	Killed  bool     // by a signal

	Gets  func(variable string) bool // the process got the variable
	Shell func(variable string) bool // this process has the variable

	PassOn func(variables []string) string // says how its entry gives them to it
}

// Cause says why a server did not start, and what to do about it.
type Cause struct {
	What     string   // a part of a sentence; "" if unknown
	Hint     string   // a line or a few; "" for nothing
	Known    bool     // another start would end in the same way
	Withheld []string // variables that the server needs, that the shell has and that it did not get
}

// Cause returns the first cause that fits.
func (s *Start) Cause() Cause {
	if names := s.withheld(); len(names) > 0 {
		return Cause{What: "it says that it needs " + strings.Join(names, ", ") + ", which it did not get", Hint: s.passOn(names), Known: true, Withheld: names}
	}
	for _, k := range known {
		m := k.says.FindStringSubmatch(s.Stderr)
		if m == nil {
			continue
		}
		name := ""
		for _, group := range m[1:] {
			name = cmp.Or(name, cleantext.Line(group, longestName))
		}
		if strings.Contains(k.what, "%s") && name == "" {
			continue
		}
		if names := s.lacksOf(networkVariables); k.lacksNetwork() && len(names) > 0 {
			return Cause{What: filled(k.what, name), Hint: s.passOnNetwork(names), Known: true, Withheld: names}
		}
		return Cause{What: filled(k.what, name), Hint: filled(k.hint, name), Known: true}
	}
	names := s.lacksOf(networkVariables)
	switch {
	case s.Fault != "":
		return Cause{What: s.Fault, Hint: "no client can read that: the server has to be mended"}
	case len(s.Stdout) > 0:
		return Cause{What: OnStdout(s.Stdout[0]), Hint: s.stdoutHint(), Known: isHeader(s.Stdout[0])}
	case s.OtherID != "":
		return Cause{What: "it answered with the id " + s.OtherID + ", which no request has", Hint: "a server answers with the id of the request, as it came: the server has to be mended"}
	case s.Midway:
		return Cause{What: "it wrote a part of a message to stdout, and not the line break that ends it",
			Hint: "an MCP server over stdio writes each message in one line, with a line break behind it, and flushes it"}
	case s.Exited && s.Clean && strings.TrimSpace(s.Stderr) == "":
		return Cause{What: silent, Hint: "is it an MCP server over stdio? Such a server runs until its stdin ends"}
	case s.Exited && !s.Killed && strings.TrimSpace(s.Stderr) == "":
		return Cause{What: silent, Hint: "does it lack an argument or a variable? It gets few variables of your shell, and those in env in its entry"}
	case s.Runs && len(names) > 0 && s.downloads(): // one that has ended has said why
		return Cause{Hint: s.passOnNetwork(names), Withheld: names}
	}
	return Cause{}
}

const silent = "it ended without a word"

const longestName = 200 // bytes of what a server names

// OnStdout returns the sentence that a server wrote a line which is no message.
func OnStdout(line string) string {
	switch {
	case isHeader(line):
		return `it sends a Content-Length before each message, where MCP has a message in each line`
	case isOpening(line):
		return `it wrote "` + line + `" in a line of its own: a message of MCP over stdio is one line`
	}
	return `it wrote "` + cleantext.Line(line, longestName) + `" to stdout, where only messages of MCP may be`
}

// isHeader reports whether a line is the header that language servers send before a message.
func isHeader(line string) bool { return header.MatchString(line) }

var header = lazyregexp.New(`(?i)^content-length:\s*\d+\s*$`)

// isOpening reports whether a line begins a message that has more lines.
func isOpening(line string) bool { return line == "{" || line == "[" }

// stdoutHint says what to do about the first line that is no message.
func (s *Start) stdoutHint() string {
	switch line := s.Stdout[0]; {
	case isHeader(line):
		return fmt.Sprintf("to read that, write framing = \"auto\" under [servers.%s]", s.Server)
	case isOpening(line):
		return "have it write JSON without indentation, and a line break behind each message"
	}
	return "an MCP server over stdio writes everything else to stderr; does it need an argument to speak MCP, such as `stdio`?"
}

func filled(text, name string) string { return strings.ReplaceAll(text, "%s", name) }

// passOn is the hint for variables that the server names and that the shell has.
func (s *Start) passOn(names []string) string {
	return fmt.Sprintf("it says that it needs %s, which your shell has, but a server gets only the variables that its entry names; %s", strings.Join(names, ", "), s.PassOn(names))
}

// passOnNetwork is the hint for variables without which a network may not be reached.
func (s *Start) passOnNetwork(names []string) string {
	return fmt.Sprintf("it may lack the network: it did not get %s, which your shell has, but a server gets only the variables that its entry names; %s", strings.Join(names, ", "), s.PassOn(names))
}

// networkVariables are those by which programs find a proxy, trust its certificate, and know where packages are.
var networkVariables = []string{
	"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
	"NPM_CONFIG_REGISTRY", "npm_config_registry", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL",
}

// lacksOf returns those variables that the shell has and that the process did not get, five at most.
func (s *Start) lacksOf(variables []string) (names []string) {
	if s.Gets == nil || s.Shell == nil {
		return nil
	}
	for _, name := range variables {
		if len(names) < 5 && s.Shell(name) && !s.Gets(name) {
			names = append(names, name)
		}
	}
	return names
}

// downloads reports whether the program is one that gets a server over the network before it starts it.
func (s *Start) downloads() bool {
	name := strings.TrimSuffix(filepath.Base(s.Program), filepath.Ext(s.Program)) // .cmd, .exe
	return slices.Contains([]string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "uvx", "uv", "pipx", "deno"}, name)
}

var (
	variable = lazyregexp.New(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b`)
	needs    = lazyregexp.New(`(?i)\b(requires?|required|missing|unset|undefined|must|needs?|provide|KeyError|environment variables?|(please|must) set|set the|not (set|found|defined|provided))\b`)
)

// near is how many bytes may be between the name of a variable and the words that say that it is
// needed.
const near = 60

// withheld returns the variables that the server says it needs, and that it could have got.
func (s *Start) withheld() (names []string) {
	if s.Gets == nil || s.Shell == nil {
		return nil
	}
	for line := range strings.Lines(s.Stderr) {
		for _, at := range variable.FindAllStringIndex(line, -1) {
			name, around := line[at[0]:at[1]], line[max(0, at[0]-near):at[0]]+" "+line[at[1]:min(len(line), at[1]+near)]
			if len(names) < 5 && !slices.Contains(names, name) && needs.MatchString(around) && s.Shell(name) && !s.Gets(name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Excerpt returns the most informative lines of a server's stderr: the first and the last, without
// the frames of a stack trace.
func Excerpt(stderr string) string {
	const first, last = 6, 6
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(stderr)) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" && !frame.MatchString(line) {
			lines = append(lines, line)
		}
	}
	if over := len(lines) - first - last; over > 1 {
		lines = slices.Replace(lines, first, first+over, fmt.Sprintf("… (%d lines)", over))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// frame matches a line of a stack trace of Node.js.
var frame = lazyregexp.New(`^\s+at .*(:\d+\)?|<anonymous>\)?|\(native\))( \{)?$`)
