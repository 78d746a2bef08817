package plain

import (
	"fmt"
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

// Server describes a server to a person by its name and its target.
func Server(server host.Server) string {
	return fmt.Sprintf("%s (%s)", Name(server.Name, NameColumns), Name(server.Target(), TargetColumns))
}

// Word quotes an argument where it would not read as one.
func Word(text string) string { return config.Quoted(text) }

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
