package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/trust"
)

// timeoutEnv gives the timeout of a request in milliseconds; 0 means none.
const timeoutEnv = "WHARF_TIMEOUT_MS"

// flags holds the flags of every command, and those of call, which the shorthand shares.
type flags struct {
	config  string
	trace   string
	record  string
	timeout timeout
	json    bool
	output  format
	save    string
	quiet   bool
	stderr  bool
	args    string

	variables, headers []string // of a server that is given on the spot

	trustHash          entryHash
	browser, noBrowser bool
	roots              folders
	noValidate         bool
	alone              bool

	taskFlags
	sampler, respondent string
}

// register defines the flags on the root, from which the commands inherit.
func (f *flags) register(root *cobra.Command) {
	global := root.PersistentFlags()
	global.Var(pathName{&f.config, "file"}, "config", "configuration `FILE`: wharf.toml, or that of another client, as it is; no other is read, and none of a project (default: your own wharf.toml)")
	global.Var(&f.timeout, "timeout", "longest wait for the server to start, for an answer or a progress report, and for a sampler or respondent, such as 90s or 2m; 0 waits for ever (default: $"+timeoutEnv+", or 60s, 30s and for ever)")
	global.Var(pathName{&f.trace, "file"}, "trace", "write every message, both ways, to `FILE`, without the secrets; at 128 MiB it is renamed to FILE.1 and begun anew; `wharf trace show` reads it")
	global.Var(pathName{&f.record, "file"}, "record", "write what plugins do to `FILE`, without the secrets; `wharf plugin replay` runs it again, and `wharf plugin test` its sign-ins")
	global.Var(&f.trustHash, "trust-hash", "use a server that came with a project if its `HASH` is this, without asking (see `wharf trust`)")
	global.BoolVar(&f.json, "json", f.json, "print JSON, on a terminal too, and errors as a JSON line at the end of stderr")
	global.VarP(&f.output, "output", "o", "print `FORMAT`: "+strings.Join(formats, ", ")+", which is JSON in one line (default: text on a terminal, else json)")
	global.Var(pathName{&f.save, "folder"}, "save", "write images, audio and other bytes of a result to files in the folder `DIR`")
	global.BoolVarP(&f.quiet, "quiet", "q", f.quiet, "print no warnings, no progress, and nothing of what servers write to their stderr")
	global.BoolVar(&f.stderr, "stderr", f.stderr, "print what servers write to their stderr, also where all is well")
	global.StringArrayVarP(&f.variables, "env", "e", nil, "a `VARIABLE` for a server after --: NAME=VALUE, or NAME to pass on your own; may be given once for each name")
	global.StringArrayVarP(&f.headers, "header", "H", nil, "a `HEADER` for a server that is given by its url: 'Name: value'; may be given once for each name")
	global.BoolVar(&f.browser, "browser", false, "have a command open the sign-in page in a browser without a terminal too")
	global.BoolVar(&f.noBrowser, "no-browser", false, "print the address of the sign-in page and open nothing, without a terminal too; on one, $NO_BROWSER does the same")
	global.BoolVar(&f.alone, "alone", false, "start the server for this command, also where a daemon runs that has it")
	global.Var(&f.roots, "root", "a folder that servers are told of; may be given more than once (default: none)")
	root.MarkPersistentFlagDirname("root")
	root.MarkPersistentFlagDirname("save")
	root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	global.StringVar(&f.sampler, "sampler", "", "a `COMMAND` that answers for a model where a server asks for one: JSON of sampling/createMessage on stdin, of its result on stdout")
	global.StringVar(&f.respondent, "respondent", "", "a `COMMAND` that fills in the forms of a server: JSON of elicitation/create on stdin, of its result on stdout")
	f.registerArgs(root)
	f.registerChecks(root)
	f.taskFlags.register(root)
}

// opensBrowser reports whether sign-in pages are opened in a browser: on a terminal,
// unless the user does not want it.
func (f *flags) opensBrowser(tty bool) bool {
	if f.browser || f.noBrowser {
		return !f.noBrowser
	}
	return tty && os.Getenv("NO_BROWSER") == ""
}

// mayAsk reports whether the user said that a person is present, terminal or not.
func (f *flags) mayAsk() bool { return f.browser || f.noBrowser }

// registerArgs defines --args, for the commands whose arguments an object may hold.
func (f *flags) registerArgs(cmd *cobra.Command) {
	cmd.Flags().Var(object{&f.args}, "args", "arguments as a JSON `OBJECT`; - reads it from stdin; key=value overrides it")
}

// registerChecks defines --no-validate, which only call and its shorthand have.
func (f *flags) registerChecks(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.noValidate, "no-validate", false, "do not check the arguments and the result against the tool's schemas")
}

// pathName is the value of a flag that names a file or a folder. An empty name is an error, because it may come
// from a variable that was never set. A second value is an error too, because it would silently
// replace the first.
type pathName struct {
	text *string
	what string // "file"
}

func (n pathName) Type() string   { return "FILE" }
func (n pathName) String() string { return "" }

func (n pathName) Set(text string) error {
	if text == "" || text == "--" { // which begins a command
		return unnamed(n.what)
	}
	if *n.text != "" && *n.text != text {
		return fmt.Errorf("it was given before, as %q; name one", *n.text)
	}
	*n.text = text
	return nil
}

// object is the value of --args. A second value is an error, because it would silently replace the
// first.
type object struct{ text *string }

func (o object) Type() string   { return "OBJECT" }
func (o object) String() string { return "" }

func (o object) Set(text string) error {
	switch text {
	case "":
		return errors.New("expected a JSON object, got an empty text")
	case "--":
		return errors.New("expected a JSON object, got the -- of a command")
	}
	if *o.text != "" {
		return errors.New("it was given before; write one object, and other arguments as key=value")
	}
	*o.text = text
	return nil
}

// entryHash is the value of --trust-hash.
type entryHash string

func (h *entryHash) Type() string   { return "HASH" }
func (h *entryHash) String() string { return "" }

func (h *entryHash) Set(text string) error {
	if !trust.IsHash(text) {
		return errors.New("expected sha256: and 64 hex digits, as `wharf trust show` prints them")
	}
	*h = entryHash(text)
	return nil
}

// checkFilled returns an error for a flag of cmd whose value is empty: the variable of a script that gives it
// may be unset, and then the flag would be as if it were not there. The same goes for one that has taken the --
// before a command. It looks at texts and lists of texts; a value of another type refuses both in its Set.
func checkFilled(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		text := f.Value.Type() == "string"
		texts := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			text, texts = true, list.GetSlice()
		}
		what, _ := pflag.UnquoteUsage(f)
		switch {
		case !text || err != nil:
		case slices.Contains(texts, "--"):
			err = exit.Usage(fmt.Errorf("--%s: expected %s, and got the -- of a command", f.Name, what), "write %s between --%s and --", what, f.Name)
		case len(texts) == 0 || slices.Contains(texts, ""):
			err = exit.Usage(fmt.Errorf("--%s: expected %s, got an empty text", f.Name, what), "write %s behind it, or leave --%s out", what, f.Name)
		}
	})
	return err
}

// checkTaken returns an error for -e and -H before a command that takes no server on the spot: they would do nothing.
func (f *flags) checkTaken(cmd *cobra.Command) error {
	takes := !cmd.HasParent() || strings.Contains(cmd.Use, "COMMAND…") || strings.HasSuffix(cmd.Use, " SERVER")
	if len(f.variables)+len(f.headers) == 0 || takes {
		return nil
	}
	return exit.Usage(fmt.Errorf("-e and -H are for a server that is given on the spot: `%s` takes none", cmd.CommandPath()),
		"write env or headers in the entry of the server")
}

// format is the value of --output.
type format string

// The formats of what is printed.
const (
	formatText     format = "text"     // as on a terminal
	formatMarkdown format = "markdown" // lists are tables, saved images are shown
	formatJSON     format = "json"     // indented on a terminal, else one line
	formatRaw      format = "raw"      // one line of JSON, on a terminal too
)

var formats = []string{string(formatText), string(formatMarkdown), string(formatJSON), string(formatRaw)}

func (f *format) Type() string   { return "FORMAT" }
func (f *format) String() string { return "" }

func (f *format) Set(text string) error {
	if !slices.Contains(formats, text) {
		return fmt.Errorf("expected one of %s", strings.Join(formats, ", "))
	}
	*f = format(text)
	return nil
}

// timeout is the value of --timeout.
type timeout struct {
	limit time.Duration
	given bool
}

func (t *timeout) Type() string   { return "DURATION" }
func (t *timeout) String() string { return "" }

func (t *timeout) Set(text string) error {
	limit, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("expected a duration such as 90s, 2m or 500ms")
	case limit < 0:
		return fmt.Errorf("expected a duration that is not negative; 0 means no limit")
	}
	t.limit, t.given = limit, true
	return nil
}

// chosen returns the timeout of the flag, or else that of the environment. given is false if
// neither has one.
func (t *timeout) chosen() (limit time.Duration, given bool, err error) {
	text := os.Getenv(timeoutEnv)
	if t.given || text == "" {
		return t.limit, t.given, nil
	}
	ms, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, false, exit.Usage(fmt.Errorf("%s=%q: expected a number of milliseconds", timeoutEnv, text), "0 means no limit")
	}
	return time.Duration(ms) * time.Millisecond, true, nil
}

// request returns the timeout of requests in the host's form: 0 is the host's default, negative
// is no limit.
func (t *timeout) request() (time.Duration, error) {
	limit, given, err := t.chosen()
	if given && limit == 0 {
		limit = -1
	}
	return limit, err
}

// line returns the timeout that the flag gives to a line of a shell, in the host's form; 0 is that
// of the shell.
func (t *timeout) line() time.Duration {
	if t.given && t.limit == 0 {
		return -1
	}
	return t.limit
}
