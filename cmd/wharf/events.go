package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// hear takes the events of a host. It prints warnings, what servers log if that is wanted, and
// other events in a shell.
func (a *app) hear(e host.Event) {
	if e.Warning != "" {
		about := ""
		if e.Server != "" {
			about = e.Server + ": "
		}
		a.Warn("%s", about+plain.Line(e.Warning))
	}
	if text := eventText(e); text != "" && a.greeted.Load() { // a script reads results only, and can run watch for the rest
		a.Tell(term.Bold, plain.Line(e.Server)+":", plain.Clip(plain.Line(a.redacted(text)), mostOfEvent), "")
	}
	a.hearLog(e)
}

// hearLog prints what a server logs, without the secrets that the host knows: on stdout for
// watch, on stderr for call. It drops errors of stdout: the next change that is printed
// reports them.
func (a *app) hearLog(e host.Event) {
	watch, from := a.follower.Load(), mcp.Level(a.flags.level)
	if watch != nil {
		from = watch.level
	}
	if e.Method != mcp.NotificationMessage || watch == nil && from == "" {
		return
	}
	var m mcp.LogMessage
	if json.Unmarshal(e.Params, &m) != nil {
		return
	}
	if at := slices.Index(mcp.Levels, m.Level); at >= 0 && at < slices.Index(mcp.Levels, from) {
		return // the server was told the level, and does not keep to it
	}
	m.Level, m.Logger, m.Data = mcp.Level(a.redacted(string(m.Level))), a.redacted(m.Logger), a.redactedJSON(m.Data)
	line := func() string {
		return a.Labelled(time.Now().Format(time.TimeOnly), plain.Line(string(m.Level)+" "+m.Logger+" "+dataText(m.Data)), "; the JSON form has all of it")
	}
	if watch == nil {
		fmt.Fprint(a.Err, line())
		return
	}
	watch.print(func() error {
		if a.forPeople() {
			return a.printLaidOut(line())
		}
		return a.PrintJSON(struct {
			Kind string `json:"kind"`
			mcp.LogMessage
		}{"log", m})
	})
}

// mostOfEvent is how many letters of a notification a shell shows.
const mostOfEvent = 400

// eventText returns the text of a notification for a person at a shell. It returns "" for
// a notification that is not for people.
func eventText(e host.Event) string {
	switch e.Method {
	case "", mcp.NotificationProgress, mcp.NotificationCancelled, mcp.NotificationAcknowledged, mcp.NotificationElicitationComplete,
		mcp.NotificationTaskStatus, mcp.NotificationTasks: // a command that waits for one of these gets it
		return ""
	case mcp.NotificationToolsListChanged:
		return `its tools have changed; "tools" lists them`
	case mcp.NotificationPromptsListChanged:
		return `its prompts have changed; "prompts" lists them`
	case mcp.NotificationResourcesListChanged:
		return `its resources have changed; "resources" lists them`
	case mcp.NotificationResourceUpdated:
		var p struct{ URI string }
		if json.Unmarshal(e.Params, &p) == nil && p.URI != "" {
			return p.URI + ` has changed; "read" shows it as it is now`
		}
	case mcp.NotificationMessage:
		var m mcp.LogMessage
		if json.Unmarshal(e.Params, &m) == nil && m.Level != "" {
			return strings.TrimSpace(string(m.Level)+" "+m.Logger) + ": " + dataText(m.Data)
		}
	}
	return strings.TrimPrefix(e.Method, "notifications/") + " " + dataText(e.Params)
}

// dataText returns a JSON value as a person reads it: a string without its quotes, and anything
// else without blanks.
func dataText(value json.RawMessage) string {
	var text string
	var compact bytes.Buffer
	switch {
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Compact(&compact, value) == nil:
		return compact.String()
	}
	return string(value)
}

// redacted returns text of a server without the secrets that the host knows.
func (a *app) redacted(text string) string {
	if a.redact == nil {
		return text
	}
	return a.redact(text)
}

// redactedJSON returns a JSON value of a server without the secrets that the host knows.
func (a *app) redactedJSON(value json.RawMessage) json.RawMessage {
	data := a.redacted(string(value))
	if data != "" && !json.Valid([]byte(data)) { // a secret went over the end of a value
		data = plain.Quote(data)
	}
	return json.RawMessage(data)
}
