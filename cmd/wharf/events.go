package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// hear takes the events of a host: it prints warnings, and for `wharf watch --log` what
// servers log.
func (a *app) hear(e host.Event) {
	if e.Warning != "" {
		about := ""
		if e.Server != "" {
			about = e.Server + ": "
		}
		a.Warn("%s", about+plain.Line(e.Warning))
	}
	if a.greeted.Load() { // a script reads results only; for the rest there is watch
		a.tellEvent(e)
	}
	a.hearLog(e)
}

// hearLog prints what a server logs, without the secrets that the host knows: on stdout for
// watch, on stderr for call. It drops errors of stdout: the next change that is printed
// reports them.
func (a *app) hearLog(e host.Event) {
	if e.Method != mcp.NotificationMessage || !a.logged.Load() && a.flags.level == "" {
		return
	}
	var m mcp.LogMessage
	if json.Unmarshal(e.Params, &m) != nil {
		return
	}
	if a.redact != nil {
		data := a.redact(string(m.Data))
		if !json.Valid([]byte(data)) { // a secret went over the end of a value
			data = plain.Quote(data)
		}
		m.Level, m.Logger, m.Data = mcp.Level(a.redact(string(m.Level))), a.redact(m.Logger), json.RawMessage(data)
	}
	if !a.forPeople() && a.logged.Load() {
		a.PrintJSON(struct {
			Kind string `json:"kind"`
			mcp.LogMessage
		}{"log", m})
		return
	}
	text := string(m.Data)
	json.Unmarshal(m.Data, &text) // a string is shown without quotes, anything else as it is
	line := a.Labelled(time.Now().Format(time.TimeOnly), plain.Line(string(m.Level)+" "+m.Logger+" "+text), "; the JSON form has all of it")
	if !a.logged.Load() {
		fmt.Fprint(a.Err, line)
		return
	}
	a.Print(line)
}

// tellEvent prints what a server says of its own accord while a shell is open.
func (a *app) tellEvent(e host.Event) {
	switch e.Method {
	case mcp.NotificationToolsListChanged, mcp.NotificationPromptsListChanged, mcp.NotificationResourcesListChanged,
		mcp.NotificationResourceUpdated, mcp.NotificationMessage:
		a.Tell(term.Bold, plain.Line(e.Server)+":", strings.TrimPrefix(e.Method, "notifications/")+" "+a.redacted(string(e.Params)), "; the JSON form has all of it")
	}
}

// redacted is text of a server without the secrets that the host knows.
func (a *app) redacted(text string) string {
	if a.redact == nil {
		return text
	}
	return a.redact(text)
}
