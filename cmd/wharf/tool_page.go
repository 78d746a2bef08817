package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// toolPage returns all that a server says of a tool, for people: what it does, its arguments and
// its result, and a command line that calls it.
func (a *app) toolPage(tool mcp.Tool) string {
	var out strings.Builder
	title := tool.Title
	if title == "" && tool.Annotations != nil {
		title = tool.Annotations.Title
	}
	about := ""
	if title != "" && title != tool.Name {
		about = "  " + plain.Line(title)
	}
	out.WriteString(a.heading(2, plain.Line(tool.Name), about))
	if tool.Description != "" {
		if a.flags.output != formatMarkdown { // whose heading has the line
			out.WriteString("\n")
		}
		out.WriteString(a.paragraph(strings.TrimSpace(tool.Description), 2))
	}
	schema := args.ReadSchema(tool.InputSchema)
	arguments := schema.Properties()
	a.writeProperties(&out, "ARGUMENTS", schema, arguments)
	result := args.ReadSchema(tool.OutputSchema)
	a.writeProperties(&out, "RESULT", result, result.Properties())
	if claims := claims(tool); len(claims) > 0 {
		out.WriteString("\n" + a.heading(3, "THE SERVER SAYS", "") + a.paragraph(strings.Join(claims, "; "), 2))
	}
	if call, err := args.ReadCall(tool.Name); err != nil || call.Tool != tool.Name || strings.Contains(tool.Name, "=") {
		return out.String() // no line calls a tool whose name has characters that no name may have
	}
	words := []string{"wharf" + a.configFlag() + " call"}
	switch {
	case a.shell != nil:
		words = []string{plain.ShellWord(tool.Name)}
	case a.known() && strings.HasPrefix(tool.Name, "-"): // alone it would be a flag
		words = append(words, plain.ShellWord(a.serverWord()+"."+tool.Name))
	case a.known():
		words = append(words, plain.ShellWord(a.serverWord()), plain.ShellWord(tool.Name))
	default:
		words = append(words, plain.ShellWord(tool.Name))
	}
	words = append(words, schema.Examples()...)
	if a.shell == nil && !a.known() {
		words = append(words, "-- COMMAND…")
	}
	example := "  " + strings.Join(words, " ") + "\n"
	if a.flags.output == formatMarkdown {
		example = "  " + example // a block of code
	}
	out.WriteString("\n" + a.heading(3, "EXAMPLE", "") + example)
	return out.String()
}

// known reports whether the server of the command has a name or an address that another
// command line can use.
func (a *app) known() bool { return a.address != "" || a.settings != nil && a.settings.has(a.server) }

// serverWord returns the word for the server in a command line: its address if it has no entry,
// else its name.
func (a *app) serverWord() string { return cmp.Or(a.address, a.server) }

// A page shows so many levels of members below the arguments, and so many members in all.
const (
	memberDepth = 4
	mostMembers = 200
)

// writeProperties writes the members of an object under a heading, if there are any.
func (a *app) writeProperties(out *strings.Builder, heading string, schema *args.Schema, properties []args.Property) {
	if len(properties) == 0 {
		return
	}
	out.WriteString("\n" + a.heading(3, heading, ""))
	members := 0
	for _, p := range properties {
		a.writeProperty(out, p, 2)
		a.writeMembers(out, schema, []args.Property{p}, 6, &members)
	}
}

// writeMembers writes the members of the object that the last property of path has as its value,
// or as the items of its value. It counts them in members. A property that refers to the
// definition of another one on the path has the same members, which are not repeated.
func (a *app) writeMembers(out *strings.Builder, schema *args.Schema, path []args.Property, indent int, members *int) {
	p := path[len(path)-1]
	forms := schema.Forms(p)
	if same := slices.IndexFunc(path, func(q args.Property) bool { return q.Ref == p.Ref }); p.Ref != "" && same < len(path)-1 && len(forms) > 0 {
		out.WriteString(a.item("with the members of "+plain.Line(path[same].Name)+", as above", indent))
		return
	}
	if len(forms) > 0 && (len(path) > memberDepth || *members >= mostMembers) {
		out.WriteString(a.item("… (the JSON form has its members)", indent))
		return
	}
	for i, form := range forms {
		at := indent
		if len(forms) > 1 {
			out.WriteString(a.item([]string{"either:", "or:"}[min(i, 1)], indent))
			at += 2
		}
		for _, member := range form {
			if *members++; *members > mostMembers {
				out.WriteString(a.item("… (the JSON form has all of them)", at))
				return
			}
			a.writeProperty(out, member, at)
			a.writeMembers(out, schema, append(slices.Clip(path), member), at+4, members)
		}
	}
}

// writeProperty writes what a schema says of one value.
func (a *app) writeProperty(out *strings.Builder, p args.Property, indent int) {
	facts := []string{p.Kind()}
	if p.Required {
		facts = append(facts, "required")
	}
	if len(p.Enum) == 1 {
		facts = append(facts, "always "+plain.Cell(string(p.Enum[0])))
	}
	facts = append(facts, p.Limits...)
	if p.Default != nil {
		facts = append(facts, "default "+plain.Cell(string(p.Default)))
	}
	out.WriteString(a.item(plain.Line(cmp.Or(p.Name, args.NoName))+"  "+strings.Join(facts, ", "), indent))
	if len(p.Enum) > 1 {
		values := make([]string, len(p.Enum))
		for i, value := range p.Enum {
			values[i] = plain.Cell(string(value))
		}
		out.WriteString(a.item("one of "+strings.Join(values, ", "), indent+4))
	}
	if p.Description != "" {
		out.WriteString(a.item(p.Description, indent+4))
	}
}

// claims returns the hints of a server about its tool, in words.
func claims(tool mcp.Tool) (words []string) {
	if h := tool.Annotations; h != nil {
		for _, claim := range []struct {
			hint    *bool
			yes, no string
		}{
			{h.ReadOnlyHint, "it only reads", "it changes things"},
			{h.DestructiveHint, "its changes may destroy", "its changes destroy nothing"},
			{h.IdempotentHint, "twice is the same as once", "twice is not the same as once"},
			{h.OpenWorldHint, "it reaches things outside of the server", "it reaches nothing outside of the server"},
		} {
			switch {
			case claim.hint == nil:
			case *claim.hint:
				words = append(words, claim.yes)
			default:
				words = append(words, claim.no)
			}
		}
	}
	if e := tool.Execution; e != nil && e.TaskSupport == mcp.TaskRequired {
		words = append(words, "it runs as a task")
	}
	return words
}

// heading returns the line of a heading, and about beside it. level is that of Markdown.
func (a *app) heading(level int, text, about string) string {
	if a.flags.output == formatMarkdown {
		return strings.Repeat("#", level) + " " + plain.MarkdownText(text+about) + "\n\n"
	}
	return a.StyleOut(term.Bold, text) + about + "\n"
}

// item is [app.paragraph] for what stands in a list, or an item of Markdown. The items of the list begin
// at column 2.
func (a *app) item(text string, indent int) string {
	if a.flags.output == formatMarkdown {
		return strings.Repeat(" ", indent-2) + "- " + plain.MarkdownText(plain.Line(text)) + "\n"
	}
	return a.paragraph(text, indent)
}

// paragraph is [plain.Paragraph] for stdout, or a paragraph of Markdown.
func (a *app) paragraph(text string, indent int) string {
	if a.flags.output == formatMarkdown {
		return plain.MarkdownText(plain.Paragraph(text, 0, 0))
	}
	return plain.Paragraph(text, indent, a.Width)
}
