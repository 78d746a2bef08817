package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// withAddress replaces the name of the server in a hint by its address, and its entry by the flag -H, if
// the server has no entry. The host knows such a server by its machine name, which `wharf login` does not take.
func (a *app) withAddress(hint string) string {
	if a.address == "" {
		return hint
	}
	return strings.NewReplacer(
		"what the headers of "+a.server+" give for", "what -H gave for",
		"write auth, or headers with Authorization, in the entry of "+a.server, "give -H 'Authorization: Basic …', where … is NAME:PASSWORD in base64",
		"write auth or headers in its entry", "give -H 'Authorization: …'",
		"write headers in its entry", "give -H 'X-API-Key: …'",
		"write scopes into auth of its entry, if you know them, and then: wharf login "+a.server,
		"if you know them, add it with `wharf add`, write scopes into auth of its entry, and sign in with `wharf login NAME`",
		"tell its makers, or set authorization_server", "tell its makers; a token that you have is given by -H 'Authorization: Bearer …'",
		"look at auth in the entry of "+a.server+", or ", "",
		"wharf login "+a.server, "wharf login "+a.address,
	).Replace(hint)
}

// withTimes replaces the keys of Wharf's own file for longer times in a hint by those of the server's file. It leaves
// them out if the server has no entry, or if its file has no such key.
func (a *app) withTimes(hint string) string {
	const more = `max_timeout = "3h"`
	spot := a.adHoc || a.address != "" || a.settings != nil && a.settings.demo && a.server == demoName // which stands in no file
	if !spot && a.settings == nil {
		return hint
	}
	var server host.Server
	if !spot {
		server, _ = a.settings.find(a.server)
	}
	limit, _ := a.flags.timeout.request() // of whose error the command has told
	for _, key := range []string{"timeout", "start_timeout"} {
		or := ", or with " + key + ` = "2m" in its entry`
		switch line := server.Longer(key, limit); {
		case spot || line == "":
			hint = strings.ReplaceAll(hint, or, "")
		case !strings.Contains(or, line):
			hint = strings.ReplaceAll(hint, or, ", or with "+line+" in its entry in "+plain.ShellWord(a.settings.from(server)))
		}
	}
	if spot {
		return strings.ReplaceAll(hint, "needs "+more+" in its entry, or more", "needs an entry, with "+more+" or more")
	}
	if line := server.Longer("max_timeout", a.settings.maxTimeout); line != "" {
		return strings.ReplaceAll(hint, "needs "+more, "needs "+line)
	}
	return strings.ReplaceAll(hint, "needs "+more+" in its entry, or more", "needs an entry "+inOwnFile+", with "+more+" or more")
}

// inOwnFile is where a server of another client's file gets what that file has no key for.
const inOwnFile = "in Wharf's own file, which `wharf import` makes"

// withCertificate replaces in an error what the entry of a server would say of its certificate, if the server has no
// entry, or one in a file of another client.
func (a *app) withCertificate(message string) string {
	name, authority, own := "add it with `wharf add`, and write the name of its certificate in its entry", "add it with `wharf add`, and name its authority's file in its entry", "add it with `wharf add`, and write one in its entry"
	if a.address == "" {
		if a.settings == nil {
			return message
		}
		if server, _ := a.settings.find(a.server); !isForeign(server) {
			return message
		}
		name, authority, own = "write the name of its certificate into an entry "+inOwnFile, "name its authority's file in an entry "+inOwnFile, "write one into an entry "+inOwnFile
	}
	return strings.NewReplacer("write the name of its certificate in its entry", name, "name its authority's file in the entry of the server", authority, "write one in the entry of the server", own).Replace(message)
}

// withFlags replaces a hint at variables or times of an entry by a hint at flags, if the server
// has no entry.
func (a *app) withFlags(hint string, err error) string {
	hint = a.withTimes(hint)
	names := host.Withheld(err)
	switch {
	case !a.adHoc:
		return hint
	case len(names) == 0:
		return strings.ReplaceAll(hint, "those in env in its entry", "those that -e gives")
	}
	why, _, _ := strings.Cut(hint, ", but a server gets only the variables")
	return why + "; if it may have that, add -e " + strings.Join(names, " -e ") + " before the --"
}

// withMissing completes a hint to give a variable that the shell does not have either: by a flag if the server
// has no entry, and else in its entry, which is TOML or not.
func (a *app) withMissing(hint string) string {
	parts := missingVariable.FindStringSubmatch(hint)
	if parts == nil {
		return hint
	}
	line, flag := parts[1], parts[2]
	if a.adHoc || a.address != "" || a.settings == nil {
		return "give it with " + flag
	}
	server, _ := a.settings.find(a.server)
	if file := a.settings.from(server); filepath.Ext(file) != ".toml" {
		return "give it in env of its entry in " + plain.ShellWord(file)
	}
	return "write " + line + " in its entry"
}

// missingVariable matches a hint to give a variable: the line of an entry, and the flag.
var missingVariable = lazyregexp.New(`^write (env = \{.*\}) in its entry, or (-e \S+ before the --)$`)

// offering returns the flags with which wharf would offer these capabilities to a server.
func (a *app) offering(names []string) string {
	var flags []string
	for _, name := range names {
		switch {
		case name == "sampling" && !a.CanAsk() && a.flags.sampler == "": // a person at a terminal answers for a model too
			flags = append(flags, "--sampler COMMAND answers for a model")
		case name == "elicitation" && !a.CanAsk() && a.flags.respondent == "":
			flags = append(flags, "--respondent COMMAND fills in forms")
		case name == "roots" && len(a.flags.roots) == 0:
			flags = append(flags, "--root DIR names a folder")
		}
	}
	return strings.Join(flags, ", ")
}

// withOffers replaces a hint at what a server wants its client to offer by flags that offer it.
func (a *app) withOffers(hint string, err error) string {
	names := host.Unoffered(err)
	flags := a.offering(names)
	switch person := slices.Contains(names, "elicitation") || slices.Contains(names, "sampling"); {
	case !person || a.CanAsk():
		return cmp.Or(flags, hint)
	case flags == "":
		return "at a terminal you are asked"
	}
	return "at a terminal you are asked; without one, " + flags
}

// nameOnSpot returns what `wharf add` would call the server that is given on the spot.
func (a *app) nameOnSpot() string {
	if a.adHoc {
		return entryName(commandName(a.argv[slices.Index(a.argv, "--")+1:]))
	}
	return entryName(siteName(a.server))
}

// withFile completes a hint to write a line into an entry: it names the file of the entry, or how
// the server gets one.
func (a *app) withFile(hint string) string {
	parts := lineOfEntry.FindStringSubmatch(hint)
	if parts == nil {
		return hint
	}
	why, key, value, table := parts[1], parts[2], parts[3], parts[4]
	if a.adHoc || a.address != "" {
		words := []string{a.address}
		if a.adHoc {
			words = a.argv[slices.Index(a.argv, "--"):]
		}
		name := strings.ReplaceAll(a.nameOnSpot(), ".", "-")
		return lineHint([]string{"wharf", "add", "--name", name}, why+"add the server first", words) +
			fmt.Sprintf(", then write %s = %s under [servers.%s]", key, value, name)
	}
	server, found := a.settings.find(a.server)
	if found && (key == "message_cap" && server.MessageCap > 0 || key == "framing" && server.Framing != "") {
		_, why, _ = strings.Cut("; "+why, "; to ")
		why = "its entry sets " + key + "; to " + why
		if server.MessageCap >= 64<<20 {
			value = strings.ReplaceAll(value, "64MiB", "1GiB")
		}
	}
	switch file := a.settings.from(server); {
	case !found || a.settings.demo && server.Name == demoName: // which stands in no file
		why, _, _ = strings.Cut(why, "; to ")
		return why
	case filepath.Ext(file) != ".toml":
		return fmt.Sprintf("%swrite %q: %s into its entry in %s", why, key, value, plain.ShellWord(file))
	case isForeign(server): // of Codex
		return fmt.Sprintf("%swrite %s = %s into its entry in %s", why, key, value, plain.ShellWord(file))
	default:
		return fmt.Sprintf("%swrite %s = %s under %s in %s", why, key, value, table, plain.ShellWord(file))
	}
}

// lineOfEntry matches a hint to write a line into an entry: why, the key, the value and the table.
var lineOfEntry = lazyregexp.New(`^(.*)write (\w+) = ("[^"]*") under (\[servers\..*\])$`)

// pagesHint returns the hint at the error of a server that wants a person to visit pages first, whom Wharf could not
// ask, or "". It names no page whose address cannot be copied or may deceive.
func pagesHint(err error) string {
	var answer *host.RPCError
	var data struct{ Elicitations []mcp.Elicitation }
	if !errors.As(err, &answer) || answer.Code != mcp.CodeURLElicitationRequired || errors.Is(err, host.ErrInputRequired) ||
		json.Unmarshal(answer.Data, &data) != nil || len(data.Elicitations) == 0 {
		return ""
	}
	var pages []string
	for _, e := range data.Elicitations {
		if _, warning := cleantext.Site(e.URL); warning == "" && cleantext.Visible(e.URL) == e.URL && !strings.Contains(e.URL, " ") {
			pages = append(pages, e.URL)
		}
	}
	which := strings.Join(pages, " and ")
	if len(pages) < len(data.Elicitations) {
		which = "the pages that its data name, if you trust them,"
	}
	return "open " + which + " in a browser, and make the request anew when you are done there"
}

// errorText returns an error as it is reported, and its hint.
func (a *app) errorText(err error) (message, hint string) {
	message, hint = a.withCertificate(err.Error()), a.withFile(a.withMissing(a.withOffers(a.withFlags(a.withAddress(exit.HintOf(err)), err), err)))
	hint = cmp.Or(hint, pagesHint(err))
	saved, typed, page := errors.Is(err, signin.ErrSavedRefused), errors.Is(err, signin.ErrTypedRefused), host.SignInURL(err) != ""
	switch {
	case typed:
		message = fmt.Sprintf("%s refuses the API key or token that you typed; it is not kept", a.server)
	case saved && page:
		message = fmt.Sprintf("%s no longer takes the sign-in that is saved for it", a.server)
	case saved:
		message = fmt.Sprintf("%s refuses the API key or token that is saved for it", a.server)
	}
	if typed || saved {
		message += answeredWith(host.RefusalText(err))
		hint = fmt.Sprintf("`wharf login %s` asks for another", plain.Word(cmp.Or(a.address, a.server)))
	}
	if saved && page {
		hint = "sign in anew with: wharf login " + plain.Word(cmp.Or(a.address, a.server))
	}
	if typed { // what is saved was taken once
		hint += "; if the server wants a key in a header of its own, that goes " + a.placeOfHeader()
	}
	if a.redact != nil {
		message, hint = a.redact(message), a.redact(hint)
	}
	return a.withConfig(message), a.withConfig(hint)
}

// report reports the error of the program on stderr, and returns the exit code. It prints
// nothing if the reader of stdout went away, as `head` does: SIGPIPE ends other programs then.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exit.CodeOK
	}
	err = a.ofDaemon(err)
	kind := exit.KindOf(ctx, err)
	if term.IsUnread(err) {
		return exit.CodeUnread
	}
	message, hint := a.errorText(err)
	if kind.Code == exit.CodeInterrupted {
		message, hint = exit.ErrInterrupted.Error(), ""
	}
	if kind.Code != exit.CodeInterrupted || !a.endless {
		if foreign := errors.As(err, new(*host.RPCError)) || strings.Contains(message, "\n"); exit.IsUsage(err) && !foreign && len(message) <= mostOfMistake {
			a.Say(term.Red, "error:", message)
		} else {
			a.Tell(term.Red, "error:", message, "; the JSON form has more of it")
		}
		if said := dataText(a.answerData(err)); said != "" && !strings.Contains(message, said) {
			fmt.Fprint(a.Err, a.Quote("data: "+said, excerptOfData, "; the JSON form has more of it"))
		}
	}
	if hint != "" {
		a.Hint(hint)
	}
	if kind.Code == exit.CodeInterrupted && a.endless && a.interrupt.Asked() {
		return exit.CodeOK
	}
	if a.flags.json || exit.IsUsage(err) && a.shell == nil && wantsJSON(a.argv) {
		a.reportJSON(kind, message, hint, err)
	}
	return kind.Code
}

// wantsJSON reports whether a command line asks for JSON. What stands behind a mistake in it was not read.
func wantsJSON(argv []string) bool {
	for i, word := range argv {
		format, flag := argv[min(i+1, len(argv)-1)], word == "-o" || word == "--output"
		if value, given := strings.CutPrefix(word, "--output="); given {
			format, flag = value, true
		}
		switch {
		case word == "--":
			return false
		case word == "--json", flag && (format == string(formatJSON) || format == string(formatRaw)):
			return true
		}
	}
	return false
}

// mostOfMistake is how long an error in what the user wrote may be, in bytes, to be shown as our own words.
const mostOfMistake = 400

// answerData returns the data of the JSON-RPC error that a server answered, fit to be printed.
// It returns nil if there is none.
func (a *app) answerData(err error) json.RawMessage {
	var answer *host.RPCError
	if !errors.As(err, &answer) || len(answer.Data) == 0 {
		return nil
	}
	data := a.redactedJSON(answer.Data)
	if beginning := plain.CutBytes(string(data), mostData); len(beginning) < len(data) {
		data = json.RawMessage(plain.Quote(fmt.Sprintf("%s… (%d bytes more)", beginning, len(data)-len(beginning))))
	}
	return data
}

// mostData bounds how much of an error's data is printed, in bytes, and excerptOfData how much
// of it a person is shown.
const mostData = 64 << 10

var excerptOfData = term.Excerpt{Bytes: 512, Rows: 6}

// errorDetails is an error as the JSON output shows it.
type errorDetails struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Server  string          `json:"server,omitempty"`   // whose error it is
	Hint    string          `json:"hint,omitempty"`     // what to do about it
	URL     string          `json:"url,omitempty"`      // where to sign in
	Sent    string          `json:"sent,omitempty"`     // of a call without an answer of the protocol: "no": it may be made again; "maybe": the server may have acted; "yes": it has answered something else, such as HTTP 429
	RPCCode *int            `json:"rpc_code,omitempty"` // of a JSON-RPC error: the code that the server answered
	Data    json.RawMessage `json:"data,omitempty"`     // of a JSON-RPC error: what the server wrote; of more than 64 KiB the beginning, as text
}

// reportJSON writes the error as JSON: one line, the last on stderr.
func (a *app) reportJSON(kind exit.Kind, message, hint string, err error) {
	sent := host.Sent(err)
	var joined *joinedError
	if errors.As(err, &joined) {
		sent = joined.sent
	}
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	details := errorDetails{kind.Name, message, a.server, hint, host.SignInURL(err), sent, nil, a.answerData(err)}
	if answer := (*host.RPCError)(nil); errors.As(err, &answer) {
		details.RPCCode = &answer.Code
	}
	encoder.Encode(map[string]errorDetails{"error": details})
	io.WriteString(a.Err, cleantext.JSON(line.String()))
}
