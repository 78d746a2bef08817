package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// reachable says in a hint how a server is really named that has no entry: the
// host knows it by the name of its machine alone.
func (a *app) reachable(hint string) string {
	if a.address == "" {
		return hint
	}
	return strings.ReplaceAll(hint, "wharf login "+a.server, "wharf login "+a.address)
}

// report tells stderr how the program ended, and returns the exit code. Where the
// reader of stdout went away, as `head` does, it ends as others do, by SIGPIPE:
// without words.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exit.CodeOK
	}
	kind := exit.KindOf(ctx, err)
	if term.IsUnread(err) {
		return exit.CodeUnread
	}
	message, hint := err.Error(), a.reachable(exit.HintOf(err))
	if a.redact != nil {
		message, hint = a.redact(message), a.redact(hint)
	}
	if kind.Code == exit.CodeInterrupted {
		message, hint = exit.ErrInterrupted.Error(), ""
	}
	fmt.Fprintln(a.Err, a.StyleErr(term.Red, "error:"), cleantext.Text(message))
	if hint != "" {
		fmt.Fprintln(a.Err, a.StyleErr(term.Bold, "hint:"), cleantext.Text(hint))
	}
	if a.flags.json {
		a.reportJSON(kind, message, hint, err)
	}
	return kind.Code
}

// reportJSON writes the error for programs: one line, the last on stderr.
func (a *app) reportJSON(kind exit.Kind, message, hint string, err error) {
	type details struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Server  string `json:"server,omitempty"`
		Hint    string `json:"hint,omitempty"`
		URL     string `json:"url,omitempty"`  // where one would sign in
		Sent    string `json:"sent,omitempty"` // of a call without an answer: no, or maybe
	}
	sent := ""
	switch {
	case errors.Is(err, host.ErrNotSent):
		sent = "no"
	case host.MaybeSent(err):
		sent = "maybe"
	}
	encoder := json.NewEncoder(a.Err)
	encoder.SetEscapeHTML(false)
	encoder.Encode(map[string]details{"error": {kind.Name, message, a.server, hint, host.SignInURL(err), sent}})
}
