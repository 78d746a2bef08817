package main

import (
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// configFlag returns --config with its file, behind a blank, or "" where the command line has none.
func (a *app) configFlag() string {
	if a.flags.config == "" || a.shell != nil {
		return ""
	}
	return " --config " + plain.ShellWord(a.flags.config)
}

// withConfig returns a text of wharf's own in which the commands also have --config, if the command
// line has it, so that they can be typed as they stand. It leaves out commands for which it does not
// matter.
func (a *app) withConfig(text string) string {
	flag := a.configFlag()
	if flag == "" {
		return text
	}
	return suggested.ReplaceAllStringFunc(text, func(line string) string {
		if strings.Contains(line, "--config") || strings.HasSuffix(line, "--help") || strings.Contains(line, "wharf auth secret") {
			return line
		}
		return strings.Replace(line, "wharf", "wharf"+flag, 1)
	})
}

// Own is as that of the terminal, and completes the commands in the text.
func (a *app) Own(format string, args ...any) string {
	return a.Terminal.Own("%s", a.withConfig(fmt.Sprintf(format, args...)))
}

// Warn is as that of the terminal, and completes the commands in the text.
func (a *app) Warn(format string, args ...any) {
	a.Terminal.Warn("%s", a.withConfig(fmt.Sprintf(format, args...)))
}

// suggested matches a command that reads the configuration, where a text suggests it: in backquotes,
// or behind a colon.
var suggested = lazyregexp.New("(?:`|: )wharf (?:acl|add|auth|bridge|call|complete|doctor|edit|import|login|logout|ping|prompts?|read|remove|" +
	"request|resources|serve|servers|shell|task|tools|update|watch)\\b[^`\n]*")

// coloned joins two texts with a colon, unless one is empty.
func coloned(before, after string) string {
	if before == "" || after == "" {
		return before + after
	}
	return before + ": " + after
}
