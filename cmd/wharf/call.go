package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/args"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

const callLong = `Call a tool of a server and print its result: the text on a terminal, else the
result as JSON, as the server gave it.

Arguments:
  key=value    what the tool's input schema makes of it: an integer, a number, a
               boolean, an array or an object must parse as one, what an enum lists
               is that value, and everything else is a string
  key:=JSON    any JSON value, whatever the schema says
  key=@FILE    the contents of a file, as text
  value        of the next argument: first of those that the tool requires, then
               of the others, in the order that TOOL --help shows;
               key:value gives it a name, which the tool must have; a
               text such as a:b is given as key=a:b; a text with = is a value if
               a blank or one of / \ : ? & # % stands before the =, as in an
               address, and the tool has no argument of that name
  {…}          a whole JSON object, as --args
  -            a whole JSON object from stdin, as --args -
A key=value wins over the same key of a whole object. SERVER.TOOL is the same as
SERVER TOOL, and TOOL(JSON, key: JSON, …) or TOOL({…}) gives the arguments in one
word. There keys need no quotes, and a text may have single ones, as in JavaScript.

` + "`wharf call SERVER TOOL --help` shows all that the server says of a tool." + `

The arguments are compared with the tool's input schema before they are sent, and
the result with its output schema; --no-validate leaves both to the server.

The exit code is 2 when the arguments do not fit, or the call fails and the server lists
no such tool; and 5 when the tool or the server answers with an error, or with a result
that does not fit.

A tool that the server can run as a task goes on without Wharf: --detach begins one
and prints it, and ` + "`wharf task`" + ` asks for it later.`

func newCall(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [ARGUMENT…] | TOOL [ARGUMENT…] -- COMMAND…",
		Short: "Call a tool of a server",
		Long:  callLong,
		Example: `  wharf call demo echo message=hello
  wharf call demo add 1 2
  wharf call demo add --args '{"a": 1}' b=2
  wharf call 'demo.add(a: 1, b: 2)'
  wharf call echo message=hello -- npx -y @modelcontextprotocol/server-everything`,
		Args:              cobra.ArbitraryArgs,
		RunE:              a.runCall,
		ValidArgsFunction: a.completeServers,
	}
	a.flags.registerArgs(cmd)
	a.flags.registerChecks(cmd)
	a.flags.taskFlags.register(cmd)
	return cmd
}

// runCall runs `wharf call`. It reads the whole command line before it starts a server, so that a
// mistake starts nothing.
func (a *app) runCall(cmd *cobra.Command, argv []string) error {
	ctx := cmd.Context()
	server, words, err := a.target(cmd, argv)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return a.noTool(words)
	}
	call, err := args.ReadCall(words[0])
	if err != nil {
		return err
	}
	if strings.Contains(call.Tool, "=") { // as no name of a tool does (2025-11-25/server/tools)
		return a.noTool(words)
	}
	if !utf8.ValidString(call.Tool) {
		return exit.Usage(fmt.Errorf("tool %q: not UTF-8 text", call.Tool), "")
	}
	if err := a.flags.taskFlags.check(); err != nil {
		return err
	}
	typed, err := call.Read(ctx, a.stdin(ctx), a.flags.args, words[1:])
	if err != nil {
		return err
	}
	c, err := a.dial(ctx, server)
	if err != nil {
		return err
	}
	defer c.close()
	return c.run(ctx, call.Tool, words[0], typed)
}

// noTool returns the error of a call that names a server but no tool. Other programs write the
// tool behind the last dot of an address, so the hint may suggest that.
func (a *app) noTool(words []string) error {
	err := errors.New("TOOL is missing")
	switch {
	case len(words) > 0:
		err = fmt.Errorf("%w: %q is an argument", err, plain.Clip(words[0], 40))
	case a.shell == nil && !a.known():
		err = fmt.Errorf("%w: it stands before the --", err)
	}
	address, in, _ := strings.Cut(a.address, "(")
	folder, last, _ := cutLast(address, '/')
	if file, tool, found := cutLast(last, '.'); found && args.IsKey(tool) && strings.Count(folder, "/") > 1 {
		if in != "" {
			tool += "(" + in
		}
		return exit.Usage(err, "%s", lineHint([]string{"wharf", "call", folder + "/" + file}, "the tool comes after the address", append([]string{tool}, words...)))
	}
	return exit.Usage(err, "%s", aTool.lists(a))
}

// cutLast cuts a text at the last occurrence of a byte.
func cutLast(text string, at byte) (before, after string, found bool) {
	if i := strings.LastIndexByte(text, at); i >= 0 {
		return text[:i], text[i+1:], true
	}
	return text, "", false
}

// run makes one call and prints its result, even if the result does not match the tool's output
// schema. It lists the tools first: the list tells the types of the arguments, and lets the
// session check them. word is what named the tool: a tool whose name ends in parentheses is meant by it as it stands.
func (c *client) run(ctx context.Context, tool, word string, typed args.Arguments) error {
	var known []mcp.Tool
	if typed.NeedSchema() || !c.app.flags.noValidate {
		tools, err := c.tools(ctx)
		if err != nil && !answered(err) {
			return err // a server that refuses the list may still have tools
		}
		known = tools
	}
	if names := namesOfTools(known); slices.Contains(names, word) && !slices.Contains(names, tool) {
		tool = word
	}
	var schema json.RawMessage
	if at := slices.IndexFunc(known, func(t mcp.Tool) bool { return t.Name == tool }); at >= 0 {
		schema = known[at].InputSchema
	} else if typed.NeedNames() && known != nil {
		if c.forbids(tool) { // the host refuses the call before anything is sent, and says why
			_, err := c.call(ctx, tool, args.Object{})
			return c.refused(ctx, tool, known, err)
		}
		return c.unlisted(ctx, tool, known)
	}
	object, err := typed.Build(tool, schema, !c.app.flags.noValidate)
	if err != nil {
		return err
	}
	result, wrong := c.call(ctx, tool, object)
	if unnamed := args.Unnamed(tool, schema, object); unnamed != "" && !c.app.flags.noValidate && !c.app.Quiet && !errors.As(wrong, new(*host.ArgumentError)) {
		c.app.Tell(term.Dim, "note:", unnamed, "")
	}
	if wrong == nil && result == nil {
		return nil // it is a task that was left to the server
	}
	if wrong != nil && !errors.As(wrong, new(*host.ResultError)) {
		return c.refused(ctx, tool, known, c.explain(ctx, tool, known, typed.Explain(schema, object, wrong)))
	}
	c.awaitEvents() // the log of the call stands before its result
	failed, err := c.app.printResult(result)
	if err == nil && wrong != nil {
		return exit.WithHint(wrong, "--no-validate accepts results that do not fit")
	}
	if failed && err == nil {
		err = c.explain(ctx, tool, known, &toolError{server: c.session.Name(), tool: tool})
	}
	return err
}

// forbids reports whether the entry of the server or the rules deny a tool to the command.
func (c *client) forbids(tool string) bool {
	return !c.entry.Permits(tool) || c.app.settings.denies(c.entry, tool)
}

// refused returns the error of a call that the host may have refused. A name that the server does not have is not one to
// permit. Whether it has a name that rules deny is not said.
func (c *client) refused(ctx context.Context, tool string, known []mcp.Tool, err error) error {
	if known == nil || !errors.Is(err, host.ErrDenied) || !c.forbids(tool) {
		return err
	}
	byRules := c.app.settings.denies(host.Server{Name: c.entry.Name}, tool) // whatever the entry permits
	if !byRules && c.lacks(tool) {
		return c.unlisted(ctx, tool, known)
	}
	// A near name is one with a slip in it: another word, such as edit_file for write_file, is a tool of its own.
	if near := nearest.Name(tool, namesOfTools(known), 2); near != "" && byRules { // else the server has the tool
		return exit.WithHint(err, fmt.Sprintf("did you mean %q? If not: %s", near, exit.HintOf(err)))
	}
	return err
}

// lacks reports whether the server is known to have no tool of that name, whatever its entry permits.
func (c *client) lacks(tool string) bool {
	if !c.joined {
		return c.session.Lacks(tool)
	}
	snapshot, err := catalogue.Open(catalogueDir()).Load(catalogue.KeyOf(c.entry))
	return err == nil && !slices.Contains(namesOfTools(itemsOf[mcp.Tool](snapshot.Lists[catalogue.Tools])), tool)
}

// unlisted returns the error for a tool that the server does not list.
func (c *client) unlisted(ctx context.Context, tool string, known []mcp.Tool) error {
	return c.explain(ctx, tool, known, &unlistedError{c.session.Name(), aTool.what, tool})
}

// answered reports whether an error comes from what the server said: an error, a result that is an
// error, or a list without the name.
func answered(err error) bool {
	return errors.As(err, new(*host.RPCError)) || errors.As(err, new(*toolError)) || errors.As(err, new(*unlistedError))
}

// explain returns the error of a call. If the server lists no such tool, it says so, with a
// hint. It asks for the list only after a call has failed, because servers have tools that they
// do not list.
func (c *client) explain(ctx context.Context, tool string, known []mcp.Tool, err error) error {
	if !answered(err) || host.Hint(err) != "" {
		return err
	}
	if known == nil {
		known, _ = c.tools(ctx)
	}
	return c.strange(aTool, tool, namesOfTools(known), err)
}

// named is a kind of thing that servers name, with the commands that list the names.
type named struct {
	what   string
	listed string // the hint for a server with an entry or an address
	behind string // the hint for a server that is a command after "--"
	line   string // the hint in a shell
}

var (
	aTool = named{"tool", "`wharf tools %s` lists the tools of the server",
		"`wharf tools -- COMMAND…` lists the tools of the server", `"tools" lists the tools of the server, and "help" the commands of a line`}
	aFollowed = named{"resource", "write `wharf watch %s URI`", "write `wharf watch URI… -- COMMAND…`", `write "watch URI"`}
	aPrompt   = named{"prompt", "`wharf prompts %s` lists the prompts of the server",
		"`wharf prompts -- COMMAND…` lists the prompts of the server", `"prompts" lists the prompts of the server`}
	aResource = named{"resource", "`wharf resources %s` lists the resources of the server",
		"`wharf resources -- COMMAND…` lists the resources of the server", `"resources" lists the resources of the server`}
)

// lists returns the hint at the command that lists the names of a server.
func (n named) lists(a *app) string {
	switch {
	case a.shell != nil:
		return n.line
	case !a.known():
		return n.behind
	}
	return fmt.Sprintf(n.listed, plain.Word(a.serverWord()))
}

// strange returns the error of a request that names something of a server. If the server does
// not list that name, the error says so, with a hint.
func (c *client) strange(kind named, name string, names []string, err error) error {
	unlisted := errors.As(err, new(*unlistedError))
	if len(names) == 0 && !unlisted || slices.Contains(names, name) {
		return err
	}
	if !unlisted { // an unlistedError says so itself
		err = &strangeName{unlistedError{c.session.Name(), kind.what, name}, err}
	}
	denies := ""
	if unlisted && kind == aTool && c.session.Info().Server.Name == ownInfo().Name {
		denies = "a gateway does not list what it denies; a call with arguments of the form key=value has its reason"
	}
	switch near := meant(name, names); {
	case near != "" && denies != "":
		return exit.WithHint(err, fmt.Sprintf("did you mean %q? If not: %s", near, denies))
	case near != "":
		return exit.WithHint(err, fmt.Sprintf("did you mean %q?", near))
	case denies != "":
		return exit.WithHint(err, denies)
	}
	if argv := c.app.argv; len(argv) > 1 && argv[1] == name && kind == aTool && c.app.shell == nil && slices.Contains(lineCommands, name) {
		return exit.WithHint(err, lineHint([]string{"wharf", name, argv[0]}, "the command comes first", argv[2:]))
	}
	if argv := c.app.argv; c.app.shell != nil && kind == aTool && name == c.entry.Name && len(argv) > 2 {
		return exit.WithHint(err, lineHint(nil, "a line of the shell names no server", argv[2:]))
	}
	hint := kind.lists(c.app)
	if kind == aTool {
		hint = cmp.Or(c.toolBehind(name, names), hint+c.couldOffer(name))
	}
	return exit.WithHint(err, hint)
}

// toolBehind returns a hint for a word that is no tool and has one behind it, such as the command of another program;
// else "".
func (c *client) toolBehind(word string, tools []string) string {
	argv := c.app.argv
	at := slices.Index(argv, word)
	if at < 0 || at+1 >= len(argv) || !slices.Contains(tools, argv[at+1]) || c.app.shell != nil || c.app.adHoc || c.app.address != "" {
		return ""
	}
	server, tool := plain.ShellWord(c.app.serverWord()), plain.ShellWord(argv[at+1])
	return fmt.Sprintf("`wharf tools %s %s` shows that tool, and `wharf %[1]s %[2]s` calls it", server, tool)
}

// couldOffer returns the end of a hint at a tool that is not listed: the flags with which wharf would
// offer more to the server. Some servers list a tool only to a client that could answer what it asks for; the name
// of the tool says for what.
func (c *client) couldOffer(tool string) string {
	tool = strings.ToLower(tool)
	var names []string
	switch {
	case strings.Contains(tool, "elicit"):
		names = []string{"elicitation"}
	case strings.Contains(tool, "root"):
		names = []string{"roots"}
	case len(c.entry.Sampler) == 0 && (strings.Contains(tool, "sampl") || strings.Contains(tool, "llm")):
		names = []string{"sampling"}
	}
	flags := c.app.offering(names)
	if flags == "" {
		return ""
	}
	return "; some servers list more tools to a client that offers more: " + flags
}

// doubt warns of a name that a server has taken although it lists others.
func (c *client) doubt(what, name string, names []string) {
	if len(names) == 0 || slices.Contains(names, name) {
		return
	}
	end := ", and took it all the same"
	if near := meant(name, names); near != "" {
		end = fmt.Sprintf("; did you mean %q?", near)
	}
	c.app.Warn("%s lists no %s %q%s", plain.Name(c.session.Name(), plain.NameColumns), what, plain.Clip(name, 80), end)
}

type callParams struct {
	Name      string      `json:"name"`
	Arguments args.Object `json:"arguments"`
}

// call returns the result exactly as the server wrote it, for stdout. It asks for progress even
// if no terminal shows that, because progress extends the timeout of the call.
func (c *client) call(ctx context.Context, tool string, arguments args.Object) (json.RawMessage, error) {
	progress, done := c.app.Progress("calling " + tool)
	defer done()
	ctx = host.WithOptions(ctx, host.RequestOptions{Progress: progress.Report, Timeout: c.app.flags.timeout.line()})
	defer c.followLog(ctx)()
	var result json.RawMessage
	var err error
	switch {
	case c.app.flags.detach:
		result, err = c.detach(ctx, tool, arguments)
	case c.app.flags.task:
		result, err = c.asTask(ctx, tool, arguments)
	default:
		err = c.session.Call(ctx, mcp.MethodCallTool, callParams{Name: tool, Arguments: arguments}, &result)
	}
	if (c.app.flags.detach || c.app.flags.task) && errors.Is(err, host.ErrUnsupported) {
		err = exit.WithHint(err, "it can be called as any tool: leave --task and --detach out")
	}
	if host.MaybeSent(err) {
		err = exit.WithHint(err, mayHaveActed(exit.HintOf(err)))
	}
	return result, c.ended(err)
}

// toolError is the error of a call, or of a task, whose result is an error. The result has been printed.
type toolError struct {
	server, tool string
	task         string // then the tool is not known
}

func (e *toolError) Error() string {
	if e.task != "" {
		return fmt.Sprintf("task %s on %s: the tool answered with an error", plain.Word(e.task), e.server)
	}
	return fmt.Sprintf("call %s: tool %q answered with an error", e.server, e.tool)
}

// ExitKind implements [exit.Kinder].
func (e *toolError) ExitKind() exit.Kind { return exit.Kind{Code: exit.CodeServer, Name: "tool_error"} }

// strangeName is the error of a request with a name that the server does not list.
type strangeName struct {
	unlistedError
	err error
}

func (e *strangeName) Error() string {
	var answer *host.RPCError
	if errors.As(e.err, &answer) {
		return fmt.Sprintf("%v: %v", &e.unlistedError, answer)
	}
	return fmt.Sprintf("%v, and answered with an error", &e.unlistedError)
}

func (e *strangeName) Unwrap() error { return e.err }

// unlistedError says that something is not in the list of its server.
type unlistedError struct {
	server, what, name string
}

func (e *unlistedError) Error() string {
	return fmt.Sprintf("%s lists no %s %q", e.server, e.what, e.name)
}

// ExitKind implements [exit.Kinder].
func (e *unlistedError) ExitKind() exit.Kind { return exit.Kind{Code: exit.CodeUsage, Name: "usage"} }
