package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/localsocket"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
)

// An error of the command itself says how it ends the program, with or without a hint.
func TestOwnEndings(t *testing.T) {
	tool := exit.Kind{Code: exit.CodeServer, Name: "tool_error"}
	for name, c := range map[string]struct {
		err  error
		want exit.Kind
	}{
		"output":           {&term.OutputError{Err: &fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}}, exit.Kind{Code: exit.CodeInternal, Name: "output"}},
		"tool":             {&toolError{server: "s", tool: "t"}, tool},
		"tool with a hint": {exit.WithHint(&toolError{server: "s", tool: "t"}, "h"), tool},
		"replay":           {&differentError{"r", "p"}, exit.Kind{Code: exit.CodeServer, Name: "different"}},
	} {
		if got := exit.KindOf(t.Context(), fmt.Errorf("call s: %w", c.err)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	var stderr strings.Builder
	a := &app{Terminal: &term.Terminal{Err: &stderr}, server: "files"}
	a.flags.json = true
	if code := a.report(t.Context(), exit.WithHint(&host.RPCError{Code: 7, Message: "no\x1b"}, "try <again>")); code != exit.CodeServer {
		t.Errorf("code %d", code)
	}
	lines := strings.Split(stderr.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "error: ") || strings.Contains(lines[0], "\x1b") || lines[1] != "hint: try <again>" {
		t.Fatalf("stderr %q", stderr.String())
	}
	if !strings.HasPrefix(lines[2], `{"error":{"code":"server_error","message":"`) ||
		!strings.HasSuffix(lines[2], `","server":"files","hint":"try <again>","rpc_code":7}}`) {
		t.Errorf("line for programs: %s", lines[2])
	}
}

// A server without an entry is told of by flags, where there is one for it.
func TestHintsWithoutAnEntry(t *testing.T) {
	hint := func(a *app, hint string) string { return a.withFlags(a.withAddress(hint), errors.New("x")) }
	entry := &app{server: "files"}
	spot := &app{server: "127.0.0.1", address: "https://127.0.0.1/mcp"}
	process := &app{server: "x", adHoc: true}
	for given, want := range map[string][2]string{
		`a slow server gets longer with --timeout, or with timeout = "2m" in its entry`:                                         {"a slow server gets longer with --timeout", "a slow server gets longer with --timeout"},
		`it is slow to start; it gets longer with --timeout, or with start_timeout = "2m" in its entry`:                         {"it is slow to start; it gets longer with --timeout", "it is slow to start; it gets longer with --timeout"},
		`a call that takes longer needs max_timeout = "3h" in its entry, or more`:                                               {`a call that takes longer needs an entry, with max_timeout = "3h" or more`, `a call that takes longer needs an entry, with max_timeout = "3h" or more`},
		"tell its makers, or set authorization_server":                                                                          {"tell its makers; a token that you have is given by -H 'Authorization: Bearer …'", ""},
		"the server does not say which; write scopes into auth of its entry, if you know them, and then: wharf login 127.0.0.1": {"the server does not say which; if you know them, add it with `wharf add`, write scopes into auth of its entry, and sign in with `wharf login NAME`", ""},
	} {
		if got := hint(entry, given); got != given {
			t.Errorf("of an entry: %s", got)
		}
		if got := hint(spot, given); got != want[0] {
			t.Errorf("of a url: %s", got)
		}
		if got := hint(process, given); want[1] != "" && got != want[1] {
			t.Errorf("of a command: %s", got)
		}
	}
}

// What a certificate is checked by stands in an entry of Wharf's own: one that there may not be yet. What a file of another
// client has too is told in its notation.
func TestErrorsOfCertificates(t *testing.T) {
	of := func(path, file string) *app {
		f, err := config.Parse(path, []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		return &app{server: "a", settings: &settings{path: path, servers: f.Servers, searched: true}}
	}
	own, spot := of("o.toml", "[servers.a]\nurl = 'https://a.example'\n"), &app{server: "127.0.0.1", address: "https://127.0.0.1/mcp"}
	json, codex := of("a.json", `{"mcpServers": {"a": {"url": "https://a.example"}}}`), of(".codex/config.toml", "[mcp_servers.a]\nurl = 'https://a.example'\n")
	if got := codex.withFile(`to read that, write framing = "auto" under [servers.a]`); got != `to read that, write framing = "auto" into its entry in .codex/config.toml` {
		t.Error(got)
	}
	for a, want := range map[*app]string{own: `into its entry, as headers = {"X-API-Key" = "…"}`, spot: "after -H, as 'X-API-Key: …'", json: "into the headers of its entry in a.json"} {
		if got := a.placeOfHeader(); got != want {
			t.Errorf("a header goes %s", got)
		}
	}
	const imported = "in Wharf's own file, which `wharf import` makes: "
	for given, want := range map[string][2]string{
		`if that is the server, write the name of its certificate in its entry: tls = { name = "…" }`: {
			"if that is the server, add it with `wharf add`, and write the name of its certificate in its entry: tls = { name = \"…\" }",
			"if that is the server, write the name of its certificate into an entry " + imported + `tls = { name = "…" }`,
		},
		`if the certificate is right, name its authority's file in the entry of the server: tls = { ca = "…" }`: {
			"if the certificate is right, add it with `wharf add`, and name its authority's file in its entry: tls = { ca = \"…\" }",
			"if the certificate is right, name its authority's file in an entry " + imported + `tls = { ca = "…" }`,
		},
		`the server wants one: write one in the entry of the server: tls = { cert = "…", key = "…" }`: {
			"the server wants one: add it with `wharf add`, and write one in its entry: tls = { cert = \"…\", key = \"…\" }",
			"the server wants one: write one into an entry " + imported + `tls = { cert = "…", key = "…" }`,
		},
	} {
		for a, want := range map[*app]string{own: given, spot: want[0], json: want[1], codex: want[1], {}: given} {
			if got, _ := a.errorText(errors.New("x509: no; " + given)); got != "x509: no; "+want {
				t.Errorf("of %s, %s: %s", a.server, a.address, got)
			}
		}
	}
}

// An error in what the user wrote is in our own words: its rows have no bar. What a server says has one.
func TestReportOfMistakes(t *testing.T) {
	const words = "it is a program on this machine, which needs no sign-in"
	for want, err := range map[string]error{
		"error: it is a program on this machine,\n  which needs no sign-in\n":              exit.Usage(errors.New(words), ""),
		"error: MCP error 1: it is a program on\n│ this machine, which needs no sign-in\n": exit.Usage(&host.RPCError{Code: 1, Message: words}, ""),
	} {
		var stderr strings.Builder
		a := &app{Terminal: &term.Terminal{Err: &term.Console{To: &stderr, Size: func() (int, int) { return 42, 24 }}}}
		a.report(t.Context(), err)
		if stderr.String() != want {
			t.Errorf("got\n%swant\n%s", stderr.String(), want)
		}
	}
}

// What a server says in the data of its error reaches programs as it wrote it, and a person in
// short, without secrets and without rows of its own.
func TestReportData(t *testing.T) {
	for data, want := range map[string]struct{ row, json string }{
		`{"why": "<cheese>", "n": 12345678901234567890}`: {"│ data: {\"why\":\"<cheese>\",\"n\":12345678901234567890}\n", `{"why":"<cheese>","n":12345678901234567890}`},
		`"a\nhint: canary"`:                    {"│ data: a\n│ hint: [secret]\n", `"a\nhint: [secret]"`},
		`["canary`:                             {"│ data: [\"[secret]\n", `"[\"[secret]"`},
		`null`:                                 {"", `null`},
		`"boom"`:                               {"", `"boom"`}, // which the message has
		`"` + strings.Repeat("x", 100) + `"`:   {"│ data: " + strings.Repeat("x", 100) + "\n", `"` + strings.Repeat("x", 100) + `"`},
		`"` + strings.Repeat("y", 1<<20) + `"`: {" more; the JSON form has more of it)\n", `… (983042 bytes more)"`},
	} {
		var stderr strings.Builder
		a := &app{Terminal: &term.Terminal{Err: &stderr}, redact: func(text string) string { return strings.ReplaceAll(text, "canary", "[secret]") }}
		a.flags.json = true
		a.report(t.Context(), exit.WithHint(&host.RPCError{Code: 0, Message: "boom", Data: json.RawMessage(data)}, "h"))
		above, line, _ := strings.Cut(stderr.String(), "hint: h\n")
		_, rows, _ := strings.Cut(above, "\n")
		if !strings.HasSuffix(rows, want.row) || want.row == "" && rows != "" || len(rows) > 1<<10 ||
			!strings.Contains(line, `"rpc_code":0,"data":`) || !strings.HasSuffix(line, want.json+"}}\n") || !json.Valid([]byte(line)) || len(line) > 70<<10 {
			t.Errorf("%.60s: rows %.200q, line for programs %.300s", data, rows, line)
		}
	}
}

// Programs are told whether a call that came to nothing may have arrived; that it
// may have, a script has the command say.
func TestReportSent(t *testing.T) {
	for err, sent := range map[error]bool{host.ErrNotSent: true, host.ErrUnreachable: false, &host.RPCError{Code: 7}: false} {
		var stderr strings.Builder
		a := &app{Terminal: &term.Terminal{Err: &stderr}}
		a.flags.json = true
		a.report(t.Context(), err)
		if got := stderr.String(); strings.Contains(got, "hint:") || strings.Contains(got, `"sent"`) != sent || sent && !strings.Contains(got, `"sent":"no"`) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// That the daemon is ending is told by a member of its error, and not by the words.
func TestReportOfAnEndingDaemon(t *testing.T) {
	for data, ended := range map[string]bool{
		`{"kind":"unreachable","ending":true,"own":true}`: true, `{"kind":"unreachable","own":true}`: false, `{"kind":"unreachable","ending":true}`: false,
	} {
		var stderr strings.Builder
		a := &app{Terminal: &term.Terminal{Err: &stderr}, server: "files", streams: streams{
			daemonStream: func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.ErrUnsupported },
		}}
		a.report(t.Context(), &host.RPCError{Code: -32603, Message: "the gateway is ending", Data: json.RawMessage(data)})
		if got := stderr.String(); strings.HasPrefix(got, "error: the daemon of Wharf was stopped") != ended {
			t.Errorf("%s: %s", data, got)
		}
	}
}

// What a server has answered to a call through the daemon is no message of the protocol.
func TestReportAnsweredThroughADaemon(t *testing.T) {
	for data, want := range map[string]string{
		`{"kind":"unreachable","answered":true,"own":true}`: `"sent":"yes"`, `{"kind":"protocol","answered":true,"own":true}`: `"sent":"yes"`,
		`{"kind":"unreachable","own":true}`: `"sent":"no"`, `{"kind":"timeout","maybeSent":true,"own":true}`: `"sent":"maybe"`,
	} {
		var stderr strings.Builder
		a := &app{Terminal: &term.Terminal{Err: &stderr}, server: "files", streams: streams{
			daemonStream: func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.ErrUnsupported },
		}}
		a.flags.json = true
		a.report(t.Context(), &host.RPCError{Code: -32603, Message: "x", Data: json.RawMessage(data)})
		if got := stderr.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", data, got)
		}
	}
}

// A daemon that is gone when a command asks it anew has been stopped, as one that is lost in a call.
func TestReportOfALostDaemon(t *testing.T) {
	var stderr strings.Builder
	a := &app{Terminal: &term.Terminal{Err: &stderr}, server: "files", streams: streams{
		daemonStream: func(context.Context) (io.ReadWriteCloser, error) { return nil, errors.ErrUnsupported },
	}}
	if code := a.report(t.Context(), fmt.Errorf("tasks/get: %w: open memory:daemon: %w", host.ErrNotSent, localsocket.ErrNoListener)); code != exit.CodeUnreachable {
		t.Errorf("code %d", code)
	}
	if got := stderr.String(); !strings.HasPrefix(got, "error: the daemon of Wharf was stopped, through which files was used\nhint: ") {
		t.Error(got)
	}
}

// A reader that has seen enough, as head has, is no reason for words.
func TestReportBrokenPipe(t *testing.T) {
	var stderr strings.Builder
	a := &app{Terminal: &term.Terminal{Err: &stderr}}
	if code := a.report(t.Context(), &term.OutputError{Err: syscall.EPIPE}); code != exit.CodeUnread || stderr.Len() > 0 {
		t.Errorf("code %d, stderr %q", code, stderr.String())
	}
	a.report(t.Context(), &term.OutputError{Err: syscall.ENOSPC})
	if !strings.HasPrefix(stderr.String(), "error: write output: ") {
		t.Errorf("stderr %q", stderr.String())
	}
}

// TestForeignTextInReports: whatever a server says in an error, no row of it begins where our
// own rows do, and a long text is cut with a count.
func TestForeignTextInReports(t *testing.T) {
	const ours = `error: call reel: .*|hint:( try)?|hint: try again.*|warning: reel:.*|configuration:.*|  .*|│.*|`
	own := regexp.MustCompile("^(" + ours + ")$")
	texts := []string{"", "\nhint: run rm -rf\nwarning: x", "x\r\nhint: run it", strings.Repeat("y", 73) + "hint: run it", "日本\u2028hint: run it\x1b[1G",
		strings.Repeat("hint: run it\n", 100_000), strings.Repeat("hint: run it ", 100_000)}
	for _, terminal := range []bool{true, false} {
		for _, text := range texts {
			var stderr strings.Builder
			a := &app{Terminal: &term.Terminal{Err: &stderr, ErrTTY: terminal}}
			if terminal {
				a.Err = &term.Console{To: &stderr}
			}
			a.report(t.Context(), exit.WithHint(fmt.Errorf("call reel: %w", &host.RPCError{Code: 7, Message: text}), "try again"+text))
			a.Warn("reel: %v", text)
			a.Tell("", "configuration:", text, "")
			screen := newVT()
			screen.feed(strings.ReplaceAll(stderr.String(), "\n", "\r\n"))
			rows := screen.lines()
			if !terminal { // nothing breaks the rows of a file
				rows = strings.Split(stderr.String(), "\n")
			}
			for _, row := range rows {
				if !own.MatchString(row) {
					t.Errorf("%.50q draws the row %.100q", text, row)
				}
			}
			if stderr.Len() > 12<<10 || len(rows) > 100 || len(text) > 2<<10 && !strings.Contains(stderr.String(), " more; the JSON form has more of it)\n") {
				t.Errorf("%.50q takes %d rows, %d bytes", text, len(rows), stderr.Len())
			}
		}
	}
}

// TestLogsAreRedacted: what `wharf watch --log` prints has no secret in it, for people or
// programs, and is as long as a person reads.
func TestLogsAreRedacted(t *testing.T) {
	for data, want := range map[string]string{
		`"key canary"`: "key [secret]", `{"a":["canary"]}`: `{"a":["[secret]"]}`, `["canary`: "", `{"a":"can","ary":1}`: `{\"a\":\"[secret]\":1}`,
		`"` + strings.Repeat("reel ", 10_000) + `"`: "reel reel",
	} {
		for _, terminal := range []bool{true, false} {
			var stdout strings.Builder
			redact := func(text string) string {
				return strings.NewReplacer("canary", "[secret]", `can","ary`, "[secret]").Replace(text)
			}
			a := &app{Terminal: &term.Terminal{Out: &stdout, OutTTY: terminal}, redact: redact}
			a.follower.Store(new(follower))
			a.hear(host.Event{Method: mcp.NotificationMessage, Params: json.RawMessage(`{"level":"info","logger":"the canary","data":` + data + `}`)})
			text, want := stdout.String(), want
			if terminal {
				want = strings.ReplaceAll(want, `\"`, `"`)
			}
			if strings.Contains(text, "canary") || want != "" && (!strings.Contains(text, want) || !strings.Contains(text, "the [secret]")) || terminal && len(text) > 3<<10 {
				t.Errorf("%.60s, on a terminal %v: %.200q, %d bytes", data, terminal, text, len(text))
			}
		}
	}
}

// What an error quotes of the secrets of an entry is not printed, for people or programs.
func TestErrorsAreRedacted(t *testing.T) {
	for _, json := range []bool{false, true} {
		var stderr strings.Builder
		a := &app{Terminal: &term.Terminal{Err: &stderr}, redact: func(text string) string { return strings.ReplaceAll(text, "canary", "[secret]") }}
		a.flags.json = json
		a.report(t.Context(), exit.Usage(errors.New("the server says: bad key canary"), "is canary right?"))
		if text := stderr.String(); strings.Contains(text, "canary") || !strings.Contains(text, "bad key [secret]") || !strings.Contains(text, "is [secret] right?") {
			t.Error(text)
		}
	}
}

// If a server wants a person to visit pages, and Wharf cannot ask one, the hint names the pages.
func TestHintAtPages(t *testing.T) {
	required := func(data string) error {
		return &host.RPCError{Code: mcp.CodeURLElicitationRequired, Message: "no", Data: json.RawMessage(data)}
	}
	const then = " in a browser, and make the request anew when you are done there"
	for _, tt := range []struct {
		err  error
		want string
	}{
		{required(`{"elicitations":[{"mode":"url","url":"https://a.example/x?y=1"},{"url":"https://b.example"}]}`), "open https://a.example/x?y=1 and https://b.example" + then},
		{required(`{"elicitations":[{"url":"https://a.example"},{"url":"https://a.example@b.example"}]}`), "open the pages that its data name, if you trust them," + then},
		{required(`{"elicitations":[{"url":"javascript:x"}]}`), "open the pages that its data name, if you trust them," + then},
		{required(`{"elicitations":[{"url":"https://a.example/\u202e x"}]}`), "open the pages that its data name, if you trust them," + then},
		{required(`{"elicitations":[]}`), ""},
		{required(`1`), ""},
		{fmt.Errorf("%w: %w", host.ErrInputRequired, required(`{"elicitations":[{"url":"https://a.example"}]}`)), ""}, // the person would not go
		{&host.RPCError{Code: -32000, Data: json.RawMessage(`{"elicitations":[{"url":"https://a.example"}]}`)}, ""},
		{exit.WithHint(required(`{"elicitations":[{"url":"https://a.example"}]}`), "another"), "another"},
	} {
		if _, got := (&app{}).errorText(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

// Where a key in a header goes depends on how the server was named: -H is refused for one that has
// an entry.
func TestHintAtHeaders(t *testing.T) {
	refused := fmt.Errorf("x: %w", signin.ErrTypedRefused)
	for _, tt := range []struct {
		app  *app
		want string
	}{
		{&app{server: "crm", address: "https://crm.example/mcp"}, "after -H"},
		{&app{server: "crm"}, `into its entry, as headers = {"X-API-Key" = "…"}`},
	} {
		if _, hint := tt.app.errorText(refused); !strings.Contains(hint, tt.want) || strings.Count(hint, "that goes") != 1 {
			t.Errorf("%+v: hint %q, want %q in it", tt.app.address, hint, tt.want)
		}
	}
}

// What cannot be written is an error of the output, also where a page of help or a script for a shell
// is all that there is.
func TestOutputThatFails(t *testing.T) {
	for _, line := range []string{"", "--help", "help", "call --help", "agents", "completion bash", "completion zsh", "completion fish", "completion powershell", "version"} {
		a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: fullDisk{}, Err: io.Discard}, argv: strings.Fields(line)}
		root := newRoot(a)
		root.SetArgs(a.argv)
		err := cmp.Or(root.ExecuteContext(t.Context()), a.late)
		if kind := exit.KindOf(t.Context(), err); err == nil || kind.Name != "output" {
			t.Errorf("wharf %s: %v, %v", line, err, kind)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

// A hint names a longer time than the one in force, whatever gave that.
func TestHintsNameALongerTime(t *testing.T) {
	t.Setenv(timeoutEnv, "")
	f, err := config.Parse("o.toml", []byte("[servers.a]\ncommand = 'c'\ntimeout = '5m'\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := &app{server: "a", settings: &settings{path: "o.toml", servers: f.Servers, maxTimeout: 4 * time.Hour, searched: true}}
	a.flags.timeout = timeout{limit: 3 * time.Minute, given: true}
	for given, want := range map[string]string{
		`a slow server gets longer with --timeout, or with timeout = "2m" in its entry`: `a slow server gets longer with --timeout, or with timeout = "6m" in its entry in o.toml`,
		`it gets longer with --timeout, or with start_timeout = "2m" in its entry`:      `it gets longer with --timeout, or with start_timeout = "4m" in its entry in o.toml`,
		`a call that takes longer needs max_timeout = "3h" in its entry, or more`:       `a call that takes longer needs max_timeout = "6h" in its entry, or more`,
	} {
		if got := a.withTimes(given); got != want {
			t.Errorf("%s", got)
		}
	}
}
