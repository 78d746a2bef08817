package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// leads tells a text that names a command to type, a flag to add or lines to write.
var leads = regexp.MustCompile(`wharf (add|auth|call|doctor|login|logout|plugin|read|remove|request|resources|search|servers|task|tools|trace|trust|update)\b|write in your configuration|write message_cap|(^|[ (])--[a-z]+[a-z-]*`)

// hintsOf returns the texts of a folder, and of those below it, that a user is led on
// by: string constants that no help text of a command is made of.
func hintsOf(t *testing.T, root string) (hints []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "plugintest" || d.Name() == "pluginbuild"):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		case strings.HasSuffix(filepath.ToSlash(path), "host/config/keys.go"): // the reference of keys
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				return n.Tok != token.CONST || n.Lparen.IsValid() || !strings.HasSuffix(n.Specs[0].(*ast.ValueSpec).Names[0].Name, "Long")
			case *ast.CompositeLit:
				if kind, ok := n.Type.(*ast.SelectorExpr); ok && kind.Sel.Name == "Command" {
					return false
				}
			case *ast.CallExpr: // of a flag: its name and what it does
				if to, ok := n.Fun.(*ast.SelectorExpr); ok && regexp.MustCompile(`Var[P]?$`).MatchString(to.Sel.Name) {
					return false
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && leads.MatchString(text) {
					hints = append(hints, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(hints)
	return slices.Compact(hints)
}

// apart are the hints that no script follows, and why.
var apart = map[string]string{
	"Nothing was started; `wharf servers --status` tries the servers.":                                               "status.txtar",
	"problem: it cannot start as its entry stands; `wharf doctor` says why.":                                         "servers.txtar, doctor.txtar",
	"the server refuses what the headers of %s give for %s%s; if it wants a sign-in in its place: wharf login %[1]s": "signin.txtar",
	", by --prefer ": "a fact about a server",
	"`wharf bridge --shared`, `wharf serve --shared` and editors start it; `wharf daemon run` is one in this terminal": "daemon.txtar",
	"`wharf daemon stop` ends it; `wharf bridge --shared`, `wharf serve --shared` and editors start another":           "daemon.txtar",
	"--timeout lets it take longer": "search.txtar",
	"it could send requests of its own to each server behind it; if you trust it with that: wharf plugin grant %s %s":                     "TestAcceptRefuses; plugin-add.txtar",
	"%s looks like a secret and is in the file as it is; `wharf auth secret NAME` keeps it in the vault, and \"${secret:NAME}\" means it": "add.txtar",
	"describes a server for a registry, and is no configuration; `wharf add NAME` adds one that a registry has":                           "TestTerminalAsksForInputs",
	", or, if the plugin is installed: wharf plugin grant %s %s":                                                                          "plugin-hints.txtar",
	"; `wharf plugin update %s` fetches it again":                                                                                         "plugin-update.txtar",
	"%s is %s; `wharf tools %[1]s` lists what it can do.":                                                                                 "add.txtar",
	"it can be called as any tool: leave --task and --detach out":                                                                         "task.txtar",
	"--print-config %q: wharf knows no such client":                                                                                       "an error",
	"`wharf shell %s` is for people; `wharf bridge --print-config=CLIENT %[1]s` prints what an editor starts it with":                     "TestBridgeWantsAProgram",
	"`wharf shell` is for people; `wharf control --schema` prints what an editor sends":                                                   "TestControlWantsAProgram",
	"`wharf control --schema` prints what each method takes":                                                                              "control.txtar",
	"--unix: %w": "serve.txtar: an error, and no hint",
	"--search=":  "serve.txtar: a word of what is pasted",
	"the input %q is asked for on a terminal, once; without one, store it with: wharf auth secret %s":                     "import.txtar",
	"`wharf serve --print-config=CLIENT` prints what an editor starts it with; over HTTP: `wharf serve --http 7777`":      "TestServeWantsAProgram",
	"add it with `wharf add`, and write the name of its certificate in its entry":                                         "TestErrorsOfCertificates",
	"write scopes into auth of its entry, if you know them, and then: wharf login ":                                       "TestHintsWithoutAnEntry",
	"if you know them, add it with `wharf add`, write scopes into auth of its entry, and sign in with `wharf login NAME`": "TestHintsWithoutAnEntry",
	"add it with `wharf add`, and write one in its entry":                                                                 "TestErrorsOfCertificates",
	"add it with `wharf add`, and name its authority's file in its entry":                                                 "TestErrorsOfCertificates",
	"--http %s: %w":                                                 "an error",
	"--sampler COMMAND answers for a model":                         "offers.txtar",
	"--respondent COMMAND fills in forms":                           "offers.txtar",
	"--root DIR names a folder":                                     "offers.txtar",
	"write transport = %q, which `wharf plugin add %[1]s` installs": "plugin-extras.txtar",
	"`wharf plugin add %s` installs it":                             "plugin-extras.txtar",
	"a url unix:// is for HTTP over a socket; where its server speaks MCP without HTTP, as `wharf serve --unix` does, ":               "TestSocketWithoutHTTP",
	"write an entry with transport = \"socket\" and address = %q in place of the url; `wharf plugin add socket` installs that plugin": "TestSocketWithoutHTTP",
	"--ttl is for tasks":                                "an error",
	"--count %d: expected a number of lines":            "an error",
	"--save: %w":                                        "an error",
	"--sha256 %s: expected 64 hex digits":               "an error",
	"`wharf plugin inspect FILE` prints that of a file": "plugin-add.txtar",
	"there is no terminal to ask at, and --yes does not stand for your answer to such a change": "update.txtar",
	"There is no model here (--sampler names one): what you write is the answer.":               "TestSampleByHand",
	"give it with --task or --detach":                                                            "task.txtar",
	"the task may run on: `wharf task result %s %s` waits for it":                                "TestTaskLosesTheDaemon",
	"a command takes neither -H nor --set":                                                       "an error",
	"a url takes neither -e nor --set":                                                           "an error",
	"if you have a token for it, keep it with `wharf auth secret %s`; no other host is given it": "search.txtar: the host is a port of the test",
	"there are more; write another WORD, or raise --limit":                                       "search.txtar: the search has succeeded",
	"write --set INPUT=VALUE":                                                                    "the flag that was wrong",
	"--no-validate sends the arguments as they are":                                              "validate.txtar",
	"--no-validate sends it all the same":                                                        "arguments.txtar",
	"did you mean %q? %s --no-validate sends it all the same":                                    "arguments.txtar",
	"give a file on stdin: --args - < %s":                                                        "TestColonAndBlank",
	"--no-validate accepts results that do not fit":                                              "validate.txtar",
	"--only: there is no check called %q":                                                        "an error",
	"--record %s: --trace writes that file":                                                      "an error",
	"%s holds no headers: `wharf add` writes an entry that has them; name that entry here":       "TestLacksAnywhere",
	"--replace is for plugins in Go":                                                             "an error",
	"! %s is a command of wharf: `wharf call %[1]s TOOL` calls a tool of this server; --name gives it another name": "add.txtar",
	"! the demo server cannot be named while this one has its name; --name gives it another":                        "add.txtar",
	"expected sha256: and 64 hex digits, as `wharf trust show` prints them":                                         "an error",
	"%w: its hash is not that of --trust-hash":                                                                      "an error",
	"--name gives it another":                                                                               "add.txtar",
	"`wharf trust show ":                                                                                    "trust.txtar",
	"it has %s; see `%s --help`":                                                                            "mistakes.txtar",
	"the server comes before the uri: `wharf read SERVER ":                                                  "mistakes.txtar",
	"--setting %s: expected KEY=VALUE":                                                                      "an error",
	"it is empty; expected a file that --record has written":                                                "an error",
	"it is not a line that --record has written":                                                            "an error",
	"there is no flow of an auth provider in it; --record writes one for each sign-in":                      "plugin-hints.txtar",
	"wharf plugin test --recording FILE runs the sign-ins of a recording":                                   "signin.txtar: it takes a recording that has one",
	"wharf --record FILE login SERVER records a sign-in; host/plugintest/README.md describes recordings":    "signin.txtar: it takes a server that one signs in to",
	"--record names a file that is new, or a recording that may be replaced":                                "record.txtar",
	"--trace names a file that is new, or a trace that may be replaced":                                     "trace.txtar",
	"sign in anew with: wharf login ":                                                                       "TestLoginGivesWhatIsMissing",
	"%s: --set is of no use, since there is nothing to update":                                              "update.txtar",
	"`wharf auth secret %s` gives it another value":                                                         "update.txtar",
	"`wharf auth secret --forget %s` forgets that one, if nothing else needs it":                            "TestTerminalUpdatesFromAVersionThatIsGone",
	"expected what --record has written for a plugin of that name":                                          "record.txtar",
	"name a file that was written with --record":                                                            "record.txtar",
	"name a file that was written with --trace":                                                             "trace.txtar",
	"--toolchain local builds with the Go of this machine; another Go may make another file":                "there is a Go where tests run",
	"name a checkout with --replace FOLDER, or run `go install ":                                            "plugin-new.txtar; and it fetches",
	"run it on a terminal, or with --no-browser, which also reads an API key from stdin, or with --browser": "signin.txtar",
	"sign in with: wharf login ":                                                                            "signin.txtar, TestSignInInterop",
	", or sign in anew with: wharf login ":                                                                  "host: TestRefusedCredentials",
	"the server denies it to the credentials that it was sent; to sign in with others: wharf login ":        "TestTypedToken",
	"wharf login ":                                "no text: what is replaced in others",
	"wharf logout ":                               "signin.txtar",
	"wharf logout --all ":                         "signin.txtar",
	" gets longer with --timeout, or with ":       "start.txtar",
	"say yes on a terminal, or add --trust-hash ": "TestTrust",
	"; `wharf trust approve ":                     "TestTerminalForgetsWhatWasTypedAhead",
	"`wharf trust approve ":                       "TestTerminalForgetsWhatWasTypedAhead",
	"`wharf trust approve %s` shows what it is and asks you; where there is no terminal, add --trust-hash %s":                               "TestTrust",
	"`wharf trust approve %s` shows what it is and asks you again; where there is no terminal: `wharf trust approve %[1]s --trust-hash %s`": "trust.txtar",
	"`wharf trust show %s` says what it lacks; `wharf trust revoke %[1]s` forgets that you denied it":                                       "trust.txtar",
	"`wharf trust list` shows what it has":                                                        "TestTrust",
	"`wharf trust list` shows what was; name a server of another project by the path of its file": "TestTrust",
	"; `wharf trust show ": "TestTrust",
	"wharf trust 1":        "no text: what a hash begins with",
	"ask the publisher whether the key is another now, where an impostor could not answer; then remove the plugin and add it with --key": "as the next",
	"`wharf doctor` says which configuration is read; `wharf add` writes to it":                                                          "start.txtar",
	"`wharf add` adds a server, and `wharf plugin add` installs a plugin":                                                                "usage.txtar",
	"`wharf remove SERVER` removes a server, and `wharf plugin remove NAME` a plugin":                                                    "as the last",
	"`wharf logout SERVER` signs out of a server; `wharf auth secret NAME --forget` removes a secret":                                    "mistakes.txtar",
	"`wharf remove SERVER` removes a server":                                                                                             "mistakes.txtar",
	"`wharf add` adds a server, and writes the configuration that it needs":                                                              "mistakes.txtar",
	"`wharf doctor SERVER` looks at a server, and says which step fails":                                                                 "mistakes.txtar",
	"`wharf call SERVER TOOL` calls a tool":                                                                                              "as the last",
	"`wharf login SERVER` signs in, or takes an API key; `wharf auth status` lists what is saved":                                        "as the last",
	"for an argument write key=value; `wharf tools %s %s` shows the keys":                                                                "start.txtar",
	"`wharf doctor SERVER` looks at a server; `wharf tools SERVER TOOL` shows a tool":                                                    "as the last",
	"`wharf watch SERVER --log info` follows what a server logs; `wharf tools SERVER --stderr` shows what it writes to stderr":           "as the last",
	"`wharf --help` lists the commands":                                                                                                  "usage.txtar",
	"`wharf auth secret NAME` keeps a secret in the vault":                                                                               "as the last",
	"`wharf servers` lists the servers, and `wharf --help` the commands":                                                                 "usage.txtar",
	"there is no secret %q; store it with: wharf auth secret %s":                                                                         "doctor.txtar",
	"`wharf servers --status` starts the servers and shows their states":                                                                 "start.txtar",
	"name the file of a plugin, which `wharf plugin build` makes":                                                                        "kit.txtar",
	"; see `wharf doctor ":                                          "status.txtar",
	"no server is called %q; `wharf servers` lists them":            "doctor.txtar",
	"no server has a name that fits %q; `wharf servers` lists them": "doctor.txtar",
	"no plugin is installed; `wharf plugin add` installs one, and `wharf plugin --help` says what they are for":   "usage.txtar",
	"`wharf servers` lists servers; `wharf tools SERVER` lists tools":                                             "start.txtar",
	"`wharf tools -- COMMAND…` starts a server and lists its tools; `wharf call` calls one":                       "start.txtar",
	"it is a socket: for HTTP write unix://%s; for MCP without HTTP, as `wharf serve --unix` speaks it, ":         "TestSocketWithoutHTTP",
	"write an entry with transport = \"socket\" and address = %q; `wharf plugin add socket` installs that plugin": "TestSocketWithoutHTTP",
	"--output says how a result is printed: text, json, markdown or raw":                                          "usage.txtar",
	"`wharf tools SERVER` lists them":     "usage.txtar",
	"`wharf call SERVER TOOL` calls one":  "usage.txtar",
	"`wharf resources SERVER` lists them": "usage.txtar",
	"`wharf read SERVER URI` reads one":   "usage.txtar",
	"each method has its command: `wharf tools SERVER` lists tools, `wharf call SERVER TOOL` calls one, and `wharf request SERVER METHOD` sends any other": "usage.txtar",
	"the tool comes behind the server: `wharf call SERVER TOOL`":                                                                                           "usage.txtar",
	"write each argument as key=value, or all of them as JSON behind --args":                                                                               "usage.txtar",
	"a server has a name in each command, which `wharf add --name NAME` gives it":                                                                          "usage.txtar",
	"`wharf add` adds a server, and `wharf plugin new` begins a plugin":                                                                                    "usage.txtar",
	"`wharf add` adds a server":                                                               "usage.txtar",
	"`wharf tools demo` shows a server that is there to try":                                  "usage.txtar",
	"`wharf import` takes over the servers of other clients, and `wharf servers` lists yours": "usage.txtar",
	"if it may have that, write in your configuration, in %s%s: env = { %s }":                 "start.txtar",
	"if it may have that, write in your configuration, in env of %s%s: %s":                    "as the last",
	"`wharf --config %s servers` reads a file as it is":                                       "usage.txtar",
	"`wharf servers` lists servers, and `wharf add` adds one":                                 "usage.txtar",
	"a command goes after --: `wharf add --name NAME -- COMMAND ARGUMENTS…`":                  "usage.txtar",
	"a url needs no --: `wharf add --name NAME URL`":                                          "usage.txtar",
	"`wharf resources -- COMMAND…` lists the resources of the server":                         "surface.txtar",
	"`wharf tools -- COMMAND…` lists the tools of the server":                                 "tools.txtar",
	"`wharf plugin extras` lists the names; write ./NAME for a file whose name has no dot":    "plugin-extras.txtar",
	"`wharf plugin extras` lists the plugins that are not":                                    "plugin-extras.txtar",
	"a command goes after --, and its name after --name":                                      "usage.txtar",
	"TOOL --help":                         "shell.txtar",
	"COMMAND --help":                      "shell.txtar",
	"`wharf auth status` lists the names": "signin.txtar",
	"wharf task list ":                    "task.txtar",
	"`wharf add` takes a URL or -- COMMAND…; `wharf --config FILE servers` reads JSON of another client as it is": "usage.txtar",
	"a name goes after --name": "usage.txtar",
	"wharf add":                "no text: what a command is called",
	"--output=":                "no text: the beginning of a flag",
	"wharf auth secret":        "no text: a command that is left as it is",
	"--save DIR writes images, audio and blobs to files":                                                                                                      "usage.txtar",
	"--stderr shows what a server writes there":                                                                                                               "usage.txtar",
	"`wharf add` keeps a server in your configuration":                                                                                                        "usage.txtar",
	"`wharf tools SERVER TOOL` shows the arguments of a tool, and with --json its schema":                                                                     "usage.txtar",
	"a command goes after --: `wharf call TOOL -- COMMAND ARGUMENTS…`":                                                                                        "usage.txtar",
	"a url comes in the place of a server: `wharf call URL TOOL`":                                                                                             "usage.txtar",
	"a value is read as the tool's schema says; --args takes JSON as it is":                                                                                   "usage.txtar",
	"the server comes right behind the command: `wharf tools SERVER`, `wharf call SERVER TOOL`":                                                               "usage.txtar",
	"try `wharf tools -- COMMAND…`":                                                                                                                           "usage.txtar",
	"; --save DIR writes it to a file":                                                                                                                        "output.txtar",
	"`wharf add URL` adds the server at an address; a file of servers has to be on this machine":                                                              "usage.txtar",
	"make an entry, in which it is one: `wharf add URL -H …`":                                                                                                 "output.txtar",
	"make an entry, in which it is one: `wharf add -e … -- COMMAND…`":                                                                                         "output.txtar",
	"for an argument write %s; see `%s --help`":                                                                                                               "tools.txtar",
	"no plugin is called %q; `wharf plugin add` adds the file of one":                                                                                         "policy.txtar",
	"${secret:%s} has no value yet%s; give it with: wharf auth secret %[1]s":                                                                                  "import.txtar",
	"%s of %s has another value for ${secret:%[3]s} than the vault, which keeps its own; to give it the new one: wharf auth secret %[3]s":                     "secrets.txtar",
	"No file of another client with servers was found. `%s --help` names the clients that Wharf knows.":                                                       "import_linux_test.go",
	"`wharf tools %s %s` shows that tool, and `wharf %[1]s %[2]s` calls it":                                                                                   "tools.txtar",
	"There is nothing new to copy. `wharf import --list` shows what was found.":                                                                               "import.txtar",
	"%s of %s is not copied: there is another server of that name in %s (it differs %[5]s); `wharf import %[2]s --server %[4]s --name NAME` gives it another": "import.txtar",
	"%[1]s of %[2]s and of %[3]s differ in secrets alone, and %[4]s in %[5]s counts as that of %[2]s: if it is that of %[3]s, `wharf import %[2]s --server %[1]s --name NAME` copies the other": "import.txtar",
	"`wharf import --list` shows those that were found": "import.txtar",
	"without --config, wharf reads your own, ":          "mistakes.txtar",
	"write --config ": "mistakes.txtar",
	"`wharf tools %s` lists what it can do; to sign in all the same, run this on a terminal": "signin.txtar",
	"`wharf login %s` asks for another":                                  "TestTypedToken",
	"no daemon runs; `wharf control --socket` starts one":                "daemon.txtar",
	"--http %s: other machines can reach it, and [serve] of %s lacks %s": "TestS2ServeToOtherMachines",
	"say where, with --http ADDRESS":                                     "serve.txtar",
	shellProgram:                                                         "no hint: what is generated",
	"%s still names it, as %s, so calls that need it fail; `wharf edit` opens the file, and `wharf plugin add` adds the plugin again": "plugin-hints.txtar",
	"expected 64 hex digits, got %d characters; write what `wharf plugin inspect %s` prints":                                          "plugin.txtar",
}

// Each hint that names a command or a key is followed by a script, and leads on: a new
// one needs its part of hints.txtar, which begins with "# hint: " and its first line.
func TestHintsAreFollowed(t *testing.T) {
	script, err := os.ReadFile(filepath.Join("testdata", "script", "hints.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var followed []string
	for line := range strings.Lines(string(script)) {
		if hint, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "# hint: "); ok {
			followed = append(followed, hint)
		}
	}
	word := regexp.MustCompile(`^ ?--[a-z-]+ ?$`) // of a list, or added to a hint
	there := make(map[string]bool)
	for _, text := range append(hintsOf(t, "."), hintsOf(t, filepath.Join("..", "..", "host"))...) {
		if word.MatchString(text) {
			continue
		}
		first, _, _ := strings.Cut(text, "\n")
		there[text], there[first] = true, true
		if apart[text] == "" && !slices.Contains(followed, first) {
			t.Errorf("nothing follows the hint %q; write what it takes into hints.txtar", text)
		}
	}
	for _, hint := range followed {
		if !there[hint] {
			t.Errorf("hints.txtar follows %q, which is nowhere", hint)
		}
	}
	for hint := range apart {
		if !there[hint] {
			t.Errorf("there is no hint %q", hint)
		}
	}
}

// led is a command that ended with a hint.
type led struct {
	command []string
	hint    string
}

var hintOfLast sync.Map // of each script: led

// hintedCommand runs a command that is to fail with a code and a hint: hinted N COMMAND….
func hintedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: hinted N COMMAND…")
	}
	code(ts, false, args)
	_, hint, found := strings.Cut(ts.ReadFile("stderr"), "\nhint: ")
	if !found {
		ts.Fatalf("there is no hint")
	}
	hint = strings.ReplaceAll(hint, "\n  ", "\n") // rows below the first are indented
	hintOfLast.Store(ts.Getenv("WORK"), led{args[1:], strings.TrimSpace(hint)})
}

// followHint does what the last hint says: it runs the commands in it, or the last command
// once more with the flags in it, or writes its lines into a file: follow [--flag
// VALUE…] [FILE]. A flag is one that the hint names, and only the person knows its value.
func followHint(ts *testscript.TestScript, neg bool, args []string) {
	last, ok := hintOfLast.Load(ts.Getenv("WORK"))
	if neg || !ok {
		ts.Fatalf("usage: follow [--flag VALUE…] [FILE], after hinted")
	}
	l := last.(led)
	if len(args) > 0 && strings.HasPrefix(args[0], "--") {
		for _, word := range args {
			if strings.HasPrefix(word, "--") && !strings.Contains(l.hint, word) {
				ts.Fatalf("the hint does not name %s: %s", word, l.hint)
			}
		}
		ts.Check(ts.Exec(l.command[0], withFlags(l.command[1:], args)...))
		return
	}
	if _, lines, found := strings.Cut(l.hint, "write in your configuration:\n"); found {
		if len(args) != 1 {
			ts.Fatalf("usage: follow FILE")
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(merged(ts.ReadFile(args[0]), lines)), 0o600))
		return
	}
	if _, lines, found := strings.Cut(l.hint, "write in your configuration, in "); found {
		table, keys, _ := strings.Cut(lines, ": ")
		table, _, _ = strings.Cut(table, " of ") // a file
		if len(args) != 1 {
			ts.Fatalf("usage: follow FILE")
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(merged(ts.ReadFile(args[0]), table+"\n"+keys)), 0o600))
		return
	}
	line := regexp.MustCompile(`(?s)^(.*)write\s+(\S+ = \S+)\s+under\s+(\[\S+\])`).FindStringSubmatch(l.hint)
	if line != nil && len(args) == 1 {
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(merged(ts.ReadFile(args[0]), line[3]+"\n"+line[2])), 0o600))
		return
	}
	if _, flags, found := strings.Cut(l.hint, "add --"); found && !strings.Contains(l.hint, "`") {
		ts.Check(ts.Exec(l.command[0], withFlags(l.command[1:], strings.Fields("--"+flags))...))
		return
	}
	commands := regexp.MustCompile("`(wharf [^`]+)`|: (wharf .+)$").FindStringSubmatch(l.hint)
	if commands == nil {
		ts.Fatalf("the hint names nothing to do: %s", l.hint)
	}
	for command := range strings.SplitSeq(commands[1]+commands[2], " && ") {
		words := strings.Fields(command)
		err := ts.Exec(words[0], words[1:]...)
		if _, hint, found := strings.Cut(ts.ReadFile("stderr"), "\nhint: "); err != nil && found { // which leads on
			hintOfLast.Store(ts.Getenv("WORK"), led{words, strings.TrimSpace(hint)})
			followHint(ts, false, nil)
			continue
		}
		ts.Check(err)
	}
}

// withFlags returns the arguments of a command with further flags, before a command of a server if there is one.
func withFlags(args, flags []string) []string {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return slices.Insert(slices.Clone(args), at, flags...)
}

// merged writes the keys of a table into the table of that name, if there is one.
func merged(text, lines string) string {
	table, keys, _ := strings.Cut(lines, "\n")
	if !strings.Contains(text, table+"\n") {
		return text + "\n" + lines + "\n"
	}
	for key := range strings.Lines(keys) {
		name, _, _ := strings.Cut(key, " ")
		text = regexp.MustCompile(`(?m)^`+name+` *=.*\n`).ReplaceAllString(text, "")
	}
	return strings.Replace(text, table+"\n", table+"\n"+keys+"\n", 1)
}

// large writes a text that is longer than a message of the script may be: large FILE.
func large(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: large FILE")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat("x", 2<<20)), 0o600))
}
