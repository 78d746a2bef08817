package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/status"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

func newTools(a *app) *cobra.Command {
	var search string
	cmd := &cobra.Command{
		Use:   "tools [SERVER [TOOL]] | [TOOL] -- COMMAND…",
		Short: "List the tools of a server, or of all; show one",
		Long: `List the tools of a server, or show all that it says of one tool: a description,
the arguments with their types, values and defaults, the members of objects among
them, and a command line that calls it. On a terminal the server's own instructions stand
above a list, if it has any. Without a server, all enabled servers are started,
and the tools of each listed as SERVER.TOOL, which ` + "`wharf call`" + ` takes. The exit code
is 4 if a server is missing.

With --search only tools are listed whose name or description has all of the words.
Piped, or with --json, a list is a JSON array of tools as the server wrote them, one
tool is that object, and the list of all servers an array of objects with "server"
and "tools".`,
		Example: "  wharf tools demo\n  wharf tools demo add\n  wharf tools --search file\n" +
			"  wharf tools -- npx -y @modelcontextprotocol/server-everything",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 && cmd.ArgsLenAtDash() < 0 && a.shell == nil {
				return a.allTools(cmd.Context(), search)
			}
			return a.withServer(a.toolOrSearch, func(ctx context.Context, c *client, words []string) error {
				if len(words) > 0 {
					return c.showTool(ctx, words[0])
				}
				return c.listTools(ctx, search)
			})(cmd, words)
		},
		ValidArgsFunction: a.completeServers,
	}
	cmd.Flags().StringVar(&search, "search", "", "list only tools whose name or description has all of these `WORDS`")
	return cmd
}

// toolOrSearch checks the words behind a server: one tool is not searched for.
func (a *app) toolOrSearch(cmd *cobra.Command, words []string) error {
	if err := atMost(1)(cmd, words); err != nil || len(words) == 0 || !cmd.Flags().Changed("search") {
		return err
	}
	line, last := []string{"wharf", "tools"}, []string{"--search", strings.TrimSpace(cmd.Flag("search").Value.String() + " " + words[0])}
	switch {
	case a.shell != nil:
		line = line[1:]
	case a.adHoc:
		last = append(last, a.argv[slices.Index(a.argv, "--"):]...)
	default:
		line = append(line, a.serverWord())
	}
	return exit.Usage(fmt.Errorf("with --search tools are listed, and %q would be one to show", plain.Clip(words[0], 40)),
		"%s", lineHint(line, "several words to search for go in quotes", last))
}

func (c *client) listTools(ctx context.Context, search string) error {
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	tools = matching(tools, search)
	if said := strings.TrimSpace(c.session.Info().Instructions); said != "" && search == "" && c.app.forPeople() {
		err := c.app.Print(c.app.heading(3, "THE SERVER SAYS", "") + c.app.paragraph(clipped(said), 2) + "\n")
		if err != nil {
			return err
		}
	}
	if err := c.app.printList(append([]mcp.Tool{}, tools...), toolTable("", tools)); err != nil { // [] and not null
		return err
	}
	switch {
	case len(tools) > 0:
	case search != "":
		c.app.none(noneFound)
	default:
		c.app.none(plain.Line(c.session.Name()) + " has no tools")
	}
	return nil
}

// noneFound is printed if --search finds no tool.
const noneFound = "no tool has all of these words in its name or description"

// mostInstructions is how many bytes of a server's instructions are shown.
const mostInstructions = 8 << 10

// clipped returns text up to mostInstructions, and below it how many bytes are missing.
func clipped(text string) string {
	shown := plain.CutBytes(text, mostInstructions)
	if more := len(text) - len(shown); more > 0 {
		return fmt.Sprintf("%s\n… and %d more bytes", shown, more)
	}
	return text
}

// toolTable returns a table with a row for each tool. before stands in front of each name.
func toolTable(before string, tools []mcp.Tool) plain.Table {
	rows := plain.Table{{"TOOL", "ARGUMENTS", "DESCRIPTION"}}
	for _, tool := range tools {
		rows = append(rows, []string{plain.Cell(before + tool.Name), plain.Cell(signature(tool)), about(tool.Description, tool.Title)})
	}
	return rows
}

// matching returns the tools whose name, title or description has all words of a search.
func matching(tools []mcp.Tool, search string) (found []mcp.Tool) {
	words := strings.Fields(strings.ToLower(search))
	for _, tool := range tools {
		text := strings.ToLower(tool.Name + "\n" + tool.Title + "\n" + tool.Description)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			found = append(found, tool)
		}
	}
	return found
}

// showTool prints all that the server says of one tool.
func (c *client) showTool(ctx context.Context, name string) error {
	tools, err := c.tools(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == name })
	if at < 0 && (c.forbids(name) || !c.lacks(name)) { // a call would have a line in the audit log
		if err := c.session.Allows(ctx, mcp.MethodCallTool, policy.Tool, name); err != nil {
			return c.refused(ctx, name, tools, err)
		}
	}
	if at < 0 {
		return c.unlisted(ctx, name, tools)
	}
	if !c.app.forPeople() {
		return c.app.PrintJSON(tools[at])
	}
	return c.app.Print(c.app.toolPage(tools[at]))
}

// serverTools are the tools of one of all servers.
type serverTools struct {
	Server string     `json:"server"`
	Tools  []mcp.Tool `json:"tools"`

	err error // why the server could not be asked
}

// allTools starts all enabled servers at once and lists their tools. Like
// `servers --status` it asks no question.
func (a *app) allTools(ctx context.Context, search string) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	h, err := a.newHost(ctx, nil, a.unattended)
	if err != nil {
		return err
	}
	defer h.Close()
	servers := s.wanted()
	a.warnOf(s)
	lists := make([]serverTools, len(servers))
	line, done := a.Progress("asking " + counted(len(servers), "server") + " for tools")
	waiting := newAwaited(line, servers)
	var wg sync.WaitGroup
	for i, server := range servers {
		wg.Go(func() {
			tools, err := toolsOf(ctx, h, a.flags.withTimeout(server))
			waiting.end(server.Name)
			if err != nil && a.forPeople() && !status.IsDenied(err) {
				tools = knownTools(server)
			}
			lists[i] = serverTools{server.Name, append([]mcp.Tool{}, matching(tools, search)...), err} // [] and not null
		})
	}
	wg.Wait()
	done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	rows := toolTable("", nil)
	for _, l := range lists {
		rows = append(rows, toolTable(l.Server+".", l.Tools)[1:]...)
	}
	found := slices.DeleteFunc(slices.Clone(lists), func(l serverTools) bool { return l.err != nil })
	if err := a.printList(found, rows); err != nil {
		return err
	}
	if search != "" && len(rows) == 1 && len(found) > 0 {
		a.none(noneFound)
	}
	absent := 0
	for _, l := range lists {
		if l.err == nil || status.IsDenied(l.err) {
			continue // a server that the user has denied is no trouble
		}
		absent++
		text := plain.Line(l.Server) + ": " + a.redacted(status.Brief(l.Server, l.err))
		if len(l.Tools) > 0 {
			text += "; its tools are those that it had when it was last used"
		}
		a.Warn("%s", text)
	}
	if absent > 0 {
		return status.AbsentError(fmt.Sprintf("%d of %d enabled servers have not listed their tools", absent, len(found)+absent))
	}
	return nil
}

// awaited says in the line of a terminal which of several servers have not answered yet.
type awaited struct {
	line  *term.Progress
	total int

	mu   sync.Mutex
	left []string
}

func newAwaited(line *term.Progress, servers []host.Server) *awaited {
	w := &awaited{line: line, total: len(servers)}
	for _, server := range servers {
		w.left = append(w.left, server.Name)
	}
	return w
}

// end takes a server that has answered, or cannot be asked.
func (w *awaited) end(server string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = slices.DeleteFunc(w.left, func(name string) bool { return name == server })
	w.line.Report(mcp.Progress{Done: float64(w.total - len(w.left)), Total: float64(w.total), Message: "waiting for " + strings.Join(w.left, ", ")})
}

// toolsOf connects a server and lists its tools. A server without the capability for tools
// has an empty list.
func toolsOf(ctx context.Context, h *host.Host, server host.Server) ([]mcp.Tool, error) {
	session, err := h.Connect(ctx, server)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	tools, err := session.ListTools(ctx)
	if errors.Is(err, host.ErrUnsupported) {
		return nil, nil
	}
	return tools, err
}

// signature returns the arguments of a tool as they are written on the command line: the required
// ones first, and the others in brackets.
func signature(tool mcp.Tool) string {
	schema := args.ReadSchema(tool.InputSchema)
	var words []string
	for _, name := range schema.Names() {
		types := schema.Types(name)
		word := cmp.Or(name, args.NoName) + "=" + cmp.Or(strings.Join(types, "|"), "…")
		if !schema.Required(name) {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// helpOfTool prints the page of a tool as the help of `wharf SERVER TOOL --help`, and of call with
// those words, and the tools of a server as that of `wharf SERVER --help`. If there is no such server, the command fails
// as it does without --help. helpOfTool returns false for all other help, and prints nothing.
func (a *app) helpOfTool(cmd *cobra.Command) bool {
	words, dash := cmd.Flags().Args(), cmd.ArgsLenAtDash()
	if cmd.HasParent() && cmd.Name() != "call" || len(words) == 0 || dash == 0 {
		return false
	}
	if dash < 0 && a.shell == nil {
		if _, address := atAddress(words[0]); !address {
			words = a.dotted(words)
			s, err := a.load()
			switch {
			case err != nil:
				return false
			case s.has(words[0]):
			case cmd.HasParent():
				a.late = s.unknownServer(words[0], serversHint)
				return true
			default:
				a.late = a.unknownFirst(cmd, s, words)
				return true
			}
		}
		if len(words) == 1 && cmd.HasParent() {
			return false
		}
	}
	if a.flags.output == "" && !a.flags.json { // help is for people, in a pipe too
		a.flags.output = formatText
	}
	a.late = a.withServer(atLeast(), func(ctx context.Context, c *client, words []string) error {
		if len(words) == 0 {
			return c.listTools(ctx, "")
		}
		return c.showTool(ctx, words[0])
	})(cmd, words)
	return true
}
