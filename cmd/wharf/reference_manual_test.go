package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/host/config"
)

// roff is a manual page.
type roff struct{ strings.Builder }

// paragraphs writes text. Indented lines stay as they are.
func (m *roff) paragraphs(text string) {
	literal := false
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); line != "" && indented != literal {
			m.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
			literal = indented
		}
		if line == "" {
			m.WriteString(".PP\n")
			continue
		}
		m.line(line)
	}
	if literal {
		m.WriteString(".fi\n")
	}
}

var quotedWords = regexp.MustCompile("`([^`]*)`")

// line writes one line. What is between backticks is bold.
func (m *roff) line(text string) {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	text = quotedWords.ReplaceAllString(text, `\fB$1\fR`)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	m.WriteString(text + "\n")
}

func (m *roff) section(title string) { fmt.Fprintf(m, ".SH %s\n", strings.ToUpper(title)) }

func (m *roff) item(term, text string) {
	m.WriteString(".TP\n")
	m.line("`" + term + "`")
	m.line(text)
}

func (m *roff) block(text string) {
	m.WriteString(".PP\n.nf\n")
	for line := range strings.Lines(text) {
		m.line(strings.TrimSuffix(line, "\n"))
	}
	m.WriteString(".fi\n")
}

func (r *reference) manual() string {
	m := &roff{}
	m.WriteString(".TH WHARF 1\n.SH NAME\nwharf \\- talk to MCP servers through sandboxed transports\n")
	m.section("synopsis")
	m.line("`wharf` COMMAND [FLAG…] [ARGUMENT…]")
	m.section("description")
	text, _, _ := strings.Cut(rootLong, "Exit codes:")
	m.paragraphs(text)
	m.section("commands")
	r.eachCommand(r.root, func(cmd *cobra.Command) {
		fmt.Fprintf(m, ".SS %s\n", strings.ReplaceAll(cmd.UseLine(), "-", `\-`))
		m.paragraphs(aboutOf(cmd))
		if cmd.Example != "" {
			m.block(cmd.Example)
		}
		if flags := flagUsages(cmd.LocalNonPersistentFlags()); flags != "" {
			m.block(flags)
		}
	})
	m.section("flags of every command")
	m.block(flagUsages(r.root.PersistentFlags()))
	m.section("exit status")
	for _, c := range exitCodes() {
		m.item(c[0], c[1])
	}
	m.section("environment")
	for _, v := range environment {
		m.item(v.name, v.meaning)
	}
	m.section("files")
	m.item("~/.config/wharf/wharf.toml", "Your configuration on Linux; see `wharf.toml`(5).")
	m.section("see also")
	m.line("`wharf.toml`(5), https://github.com/wharf-mcp/wharf")
	return m.String()
}

func (r *reference) configManual() string {
	m := &roff{}
	m.WriteString(".TH WHARF.TOML 5\n.SH NAME\nwharf.toml \\- the servers and plugins of wharf\n")
	m.section("description")
	m.line("The configuration of `wharf`(1), in TOML. A key that is not in these tables is an error.")
	for _, table := range config.Tables() {
		m.section(table.Name)
		m.line(table.Meaning)
		for _, k := range table.Keys {
			m.item(k.Name, fmt.Sprintf("%s Type: %s. Without it: %s.\n.br\n", k.Meaning, k.Type, k.Default))
			m.line("    " + k.Example)
		}
	}
	m.section("see also")
	m.line("`wharf`(1)")
	return m.String()
}
