package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/plugins"
)

// TestReference compares the reference and the manual pages with the code that they are
// made from. `make docs` writes them anew.
func TestReference(t *testing.T) {
	r := &reference{t: t, sources: sources{}, root: newRoot(&app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}})}
	r.root.InitDefaultHelpCmd()
	r.root.InitDefaultCompletionCmd()
	for name, text := range map[string]string{
		"docs/REFERENCE.md": r.page(), "docs/man/wharf.1": r.manual(), "docs/man/wharf.toml.5": r.configManual(),
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || string(have) != text {
			t.Errorf("%s is not what the code says; run make docs (%v)", name, err)
		}
	}
}

// reference is what the pages are made from.
type reference struct {
	t       *testing.T
	sources sources
	root    *cobra.Command
	b       strings.Builder
}

func (r *reference) printf(format string, a ...any) { fmt.Fprintf(&r.b, format, a...) }

// row is a row of a table in Markdown.
func (r *reference) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	r.printf("| %s |\n", strings.Join(cells, " | "))
}

func (r *reference) head(cells ...string) {
	r.row(cells...)
	r.printf("|%s\n", strings.Repeat(" --- |", len(cells)))
}

func (r *reference) page() string {
	r.printf("# Reference\n\nMade from the code by `make docs`; a test compares the two.\n\n" +
		"[Configuration](#configuration) · [Environment](#environment) · [Exit codes and errors](#exit-codes-and-errors) · " +
		"[JSON](#json) · [Limits](#limits) · [Commands](#commands)\n\n")
	r.configuration()
	r.environment()
	r.endings()
	r.json()
	r.limits()
	r.commands()
	return r.b.String()
}

func (r *reference) configuration() {
	r.printf("## Configuration\n\n`wharf/wharf.toml` in the configuration folder (`$XDG_CONFIG_HOME`, or `~/.config` on Linux,\n" +
		"`~/Library/Application Support` on macOS, `%%AppData%%` on Windows), or the file of `--config`.\n" +
		"A key that is not in these tables is an error.\n\n")
	for _, table := range config.Tables() {
		r.printf("### %s\n\n%s\n\n", table.Name, table.Meaning)
		r.head("key", "type", "without it", "meaning", "example")
		for _, k := range table.Keys {
			r.row("`"+k.Name+"`", k.Type, k.Default, k.Meaning, "`"+k.Example+"`")
		}
		r.printf("\n")
		if table.Open {
			r.settings()
		}
	}
	r.printf("A duration is written as `90s`, `2m` or `1h30m`, a size as `64KiB`, `16MiB` or `1GiB`.\n\n")
}

// settings are the settings of the shipped plugins, as their manifests say.
func (r *reference) settings() {
	a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	h, err := a.newHost(r.t.Context(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	defer h.Close()
	for _, name := range slices.Sorted(maps.Keys(plugins.Builtin())) {
		info, err := inspect(r.t.Context(), h, name)
		if err != nil {
			r.t.Fatal(err)
		}
		d := describe(info)
		if d.Manifest == nil || len(d.Manifest.Settings) == 0 {
			continue
		}
		r.printf("Settings of `%s`:\n\n", name)
		r.head("key", "meaning")
		for _, s := range d.Manifest.Settings {
			r.row("`"+s.Key+"`", s.Summary)
		}
		r.printf("\n")
	}
}

// environment are the variables that Wharf reads, and those that a server gets. The
// names that the source looks up must be among them.
var environment = []struct{ name, meaning string }{
	{"WHARF_TIMEOUT_MS", "The timeout of a request, and of the start of a server, in milliseconds; `0` is none. `timeout` and `start_timeout` of an entry outrank it, each for its own, and `--timeout` outranks all of them."},
	{"WHARF_REGISTRY", "The address of the registry that `search` and `add` ask. `update` asks the one that a server came from."},
	{"WHARF_NESTED", "How many hosts are above this one. Wharf sets it for servers that are processes; below more than four it ends with an error, since an entry then leads back to itself."},
	{"WHARF_TRACE", "Layers to print to stderr, with commas between: `rpc`, `abi`, `io`."},
	{"OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "The receiver of traces, which Wharf sends by OTLP over HTTP in protobuf. The first is a base, to which Wharf adds `/v1/traces`; the second is the whole URL. If neither is set, Wharf sends no traces."},
	{"OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_TRACES_HEADERS", "Headers of these requests, as `name=value,name=value`."},
	{"OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "How long such a request may take, in milliseconds: 10000."},
	{"OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "`http/protobuf`, the only one that is there."},
	{"OTEL_TRACES_EXPORTER", "`otlp`, or `none` for no traces."},
	{"OTEL_SDK_DISABLED", "`true` turns traces off."},
	{"OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG", "As OpenTelemetry defines them."},
	{"XDG_CONFIG_HOME", "The folder of `wharf/wharf.toml`, of logins and of decisions of trust, on Linux."},
	{"XDG_DATA_HOME", "The folder of installed plugins, on Linux."},
	{"XDG_CACHE_HOME", "The folder of compiled plugins, on Linux. What is in it may be removed."},
	{"HTTP_PROXY, HTTPS_PROXY, NO_PROXY", "The proxy of a url, where its entry has no `proxy`; in small letters too."},
	{"SSL_CERT_FILE, SSL_CERT_DIR", "The authorities that are trusted, on Linux."},
	{"BROWSER", "The programs that open a page, with `:` between."},
	{"WHARF_PICTURES", "How the terminal takes pictures: `kitty`, `iterm2`, `sixel` or `none`. By default it is known by its name, and not asked."},
	{"XDG_RUNTIME_DIR", "Where `wharf serve --unix` and the daemon have their sockets, in a folder `wharf`; without it that is beside `wharf.toml`."},
	{"NO_BROWSER", "If it is set, a command on a terminal opens no page, and prints its address."},
	{"VISUAL, EDITOR", "The command of your editor, for `wharf edit`."},
	{"NO_COLOR", "If it is set, the output has no colours."},
	{"LC_ALL, LC_CTYPE, LANG", "The locale. If the first of them that is set names another charset than UTF-8, or is `C`, the line that shows progress is drawn in ASCII."},
	{"TERM", "`dumb` is a terminal without colours."},
	{"GOGC", "The pace of Go's collector, if Wharf's own is not wanted."},
	{"CARGO_HOME, CARGO_INSTALL_ROOT", "Where cargo installs programs: one of a registry that is elsewhere is told of."},
	{"DBUS_SESSION_BUS_ADDRESS", "The bus of the keyring, on Linux."},
	{"EXTISM_ENABLE_WASI_OUTPUT", "If it is set, no sign-in starts: it would print secrets."},
}

func (r *reference) environment() {
	r.printf("## Environment\n\nWharf reads:\n\n")
	r.head("variable", "meaning")
	listed := map[string]bool{}
	for _, v := range environment {
		r.row("`"+strings.ReplaceAll(v.name, ", ", "`, `")+"`", v.meaning)
		for _, name := range strings.Split(v.name, ", ") {
			listed[name] = true
		}
	}
	for name := range r.sources.variables(r.t) {
		if !listed[name] {
			r.t.Errorf("the source reads the variable %s, which the reference does not have", name)
		}
	}
	for _, name := range []string{timeoutEnv, registryEnv} {
		if !r.sources.variables(r.t)[name] {
			r.t.Errorf("the variable %s is not found in the source", name)
		}
	}
	r.printf("\nA server that is a process gets these variables of yours, those of its `env` and `env_file`, `WHARF_NESTED`, and no others.\n" +
		"`-e NAME` passes one more to a server after `--`.\n\n")
	process := "host/internal/capability/process"
	r.printf("- Linux and macOS: `%s`, and those that begin with `LC_`\n", strings.Join(r.sources.texts(r.t, process, "unixNames"), "`, `"))
	r.printf("- Windows: `%s`\n\n", strings.Join(r.sources.texts(r.t, process, "windowsNames"), "`, `"))
}

// meanings are what the names of errors mean.
var meanings = map[string]string{
	"usage": "the command line, or a file that it names, is wrong", "configuration": "an entry of the configuration is wrong",
	"unknown_transport": "there is no plugin of that name", "file": "a file that the configuration names cannot be read",
	"sign_in_needed": "the server wants a sign-in, and the user has not signed in", "unreachable": "there is no connection, or it was lost",
	"timeout": "the server took longer than it may", "tool_error": "the tool says that it failed; stdout has its result",
	"server_error": "the server answered with an error", "unsupported": "the server cannot do that",
	"input_required": "the server asks for what a person, a model or a folder has to answer, and did not get it",
	"protocol":       "the server broke the protocol, or went over a limit", "denied": "you, a grant or a rule did not allow it, or the server refused what it was sent (HTTP 403)",
	"plugin_refused": "the plugin cannot be used", "different": "a replay went another way than its recording",
	"interrupted": "a signal ended it; a SIGTERM is `0` for what goes on until it is ended: `watch` without `--count`, `servers --watch`, `bridge`, `control`, `daemon`, `audit --follow`, and `serve` with an address", "internal": "none of these", "output": "stdout could not be written",
}

func (r *reference) endings() {
	r.printf("## Exit codes and errors\n\n")
	r.head("exit code", "meaning")
	for _, c := range exitCodes() {
		r.row("`"+c[0]+"`", c[1])
	}
	r.printf("\nA stdout that is closed already when Wharf starts (`>&-`) is taken for `/dev/null`: the exit code is that of the command.\n")
	r.printf("\nWith `--json` the last line of stderr is `{\"error\": {…}}`, see [errors](#errors). Its `code` is one of:\n\n")
	r.head("code", "exit code", "meaning")
	kinds := r.sources.kinds(r.t)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if meanings[name] == "" {
			r.t.Errorf("the code %s has no meaning in the reference", name)
		}
		r.row("`"+name+"`", "`"+kinds[name]+"`", meanings[name])
	}
	for name := range meanings {
		if kinds[name] == "" {
			r.t.Errorf("no error has the code %s", name)
		}
	}
	r.printf("\n")
}

// exitCodes are the codes with their meanings, as the help has them.
func exitCodes() (codes [][2]string) {
	_, list, _ := strings.Cut(onOneLine(rootLong), "Exit codes: ")
	for _, m := range regexp.MustCompile(`(\d+) ([^,.]+)`).FindAllStringSubmatch(list, -1) {
		codes = append(codes, [2]string{m[1], m[2]})
	}
	return codes
}

func (r *reference) limits() {
	r.printf("## Limits\n\nWhat is over a limit is an error that names it; nothing is left out in silence.\n\n")
	r.head("limit", "value", "set by")
	for _, l := range []struct{ what, dir, name, set string }{
		{"a message of a server", "host/internal/connect", "DefaultMessageCap", "`message_cap`"},
		{"an answer, or the time between two reports of progress", "host/internal/rpc", "DefaultTimeout", "`--timeout`; else `timeout`; else `WHARF_TIMEOUT_MS`"},
		{"the start of a server", "host/internal/session", "defaultStartTimeout", "`--timeout`; else `start_timeout`; else `WHARF_TIMEOUT_MS`"},
		{"pages of a list", "host/mcp", "MaxPages", ""},
		{"the text of all pages of a list", "host/mcp", "MaxListBytes", ""},
		{"the schema of a tool that arguments are checked with", "host/mcp", "MaxSchemaBytes", ""},
		{"arguments of a tool that go into headers", "host/mcp", "MaxHeaderParams", ""},
		{"what a result asks for at once", "host/mcp", "MaxAsked", ""},
		{"the schema of a form", "host/mcp", "MaxFormBytes", ""},
		{"fields of a form", "host/mcp", "MaxFormFields", ""},
		{"options of a field", "host/mcp", "MaxOptions", ""},
		{"clients at a unix socket", "cmd/wharf", "maxClients", ""},
		{"connections to `serve --http` before they are let in; more wait, or the oldest ends", "cmd/wharf/internal/listener", "maxStrangers", ""},
		{"clients of the daemon", "cmd/wharf", "daemonClients", ""},
		{"working folders of them", "cmd/wharf", "maxWorlds", ""},
		{"a server of the daemon that no client uses", "cmd/wharf", "lingering", ""},
		{"the same, while it runs a task or keeps its outcome", "cmd/wharf", "taskTime", ""},
		{"a configuration file", "host/config", "maxFile", ""},
		{"an answer of a registry", "host/registry", "maxAnswer", ""},
		{"pages of a registry's answer", "host/registry", "maxPages", ""},
	} {
		r.row(l.what, r.sources.limit(r.t, l.dir, l.name), l.set)
	}
	r.row("elements of a result, or of all pages of a list", fmt.Sprint(mcp.MaxElements), "")
	r.row("a secret that is hidden in output", "from 8 bytes on; 4 if its name says what it is", "")
	r.printf("\nWhat a plugin may use is in [host/COSTS.md](../host/COSTS.md).\n\n")
}

func (r *reference) commands() {
	r.printf("## Commands\n\nEach command has these flags as well:\n\n```\n%s```\n\n", flagUsages(r.root.PersistentFlags()))
	r.printf("With `--output markdown`, lists and facts are tables, a tool is a page with headings, and what is laid out in columns\n" +
		"or lines is a block of code. A sentence, and the text of a result, are as with `text`.\n\n")
	r.eachCommand(r.root, func(cmd *cobra.Command) {
		r.printf("### %s\n\n```\n%s\n```\n\n%s\n\n", cmd.CommandPath(), cmd.UseLine(), fenced(aboutOf(cmd)))
		if cmd.Example != "" {
			r.printf("```\n%s\n```\n\n", cmd.Example)
		}
		if flags := flagUsages(cmd.LocalNonPersistentFlags()); flags != "" {
			r.printf("```\n%s```\n\n", flags)
		}
	})
	for r.b.Len() > 0 && strings.HasSuffix(r.b.String(), "\n\n") {
		text := strings.TrimSuffix(r.b.String(), "\n")
		r.b.Reset()
		r.b.WriteString(text)
	}
}

// eachCommand visits the commands that help lists, in its order.
func (r *reference) eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.Name() == "help" {
			continue
		}
		if c.Runnable() {
			visit(c)
		}
		r.eachCommand(c, visit)
	}
}

// aboutOf is what the help of a command says, without its usage.
func aboutOf(cmd *cobra.Command) string {
	if cmd.Long != "" {
		return strings.TrimSpace(cmd.Long)
	}
	return cmd.Short + "."
}

func flagUsages(flags *pflag.FlagSet) string {
	list := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			list.AddFlag(f)
		}
	})
	return list.FlagUsages()
}

// fenced puts the indented blocks of a text into fences.
func fenced(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text + "\n") {
		if indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); indented != inside && strings.TrimSpace(line) != "" {
			b.WriteString("```\n")
			inside = indented
		}
		b.WriteString(line)
	}
	if inside {
		b.WriteString("```\n")
	}
	return strings.TrimSpace(b.String())
}
