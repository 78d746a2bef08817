package main

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What a server says of its own accord is told above the line in words.
func TestShellTellsOfNotifications(t *testing.T) {
	var shown strings.Builder
	a := &app{Terminal: &term.Terminal{Err: &term.Console{To: &shown, Size: func() (int, int) { return 60, 24 }}, ErrTTY: true}, redact: func(text string) string {
		return strings.ReplaceAll(text, "hunter2", "[secret]")
	}}
	a.greeted.Store(true)
	for _, e := range [][2]string{
		{mcp.NotificationMessage, `{"level":"warning","logger":"disk","data":"96 %\u001b[2J full, hunter2"}`},
		{mcp.NotificationMessage, `{"level":"info","data":{"free": 4, "of": "100 GB"}}`},
		{mcp.NotificationMessage, `{"level":"info","data":"` + strings.Repeat("long ", 100) + `"}`},
		{mcp.NotificationMessage, `[1]`},
		{mcp.NotificationToolsListChanged, ``},
		{mcp.NotificationResourceUpdated, `{"uri":"demo://clock"}`},
		{"notifications/tide", `{"height":3}`},
		{"notifications/tide", ``},
	} {
		a.hear(host.Event{Server: "s", Method: e[0], Params: []byte(e[1])})
	}
	long := "s: info: " + strings.Repeat("long ", 100)[:393] + "…"
	want := strings.ReplaceAll(`s: warning disk: 96 %\x1b[2J full, [secret]
s: info: {"free":4,"of":"100 GB"}
LONG
s: message [1]
s: its tools have changed; "tools" lists them
s: demo://clock has changed; "read" shows it as it is now
s: tide {"height":3}
s: tide
`, "LONG", strings.Join(plain.Wrap(long, 57, 0), "\n│ "))
	if shown.String() != want {
		t.Errorf("shown:\n%s", shown.String())
	}
}

// What a server logs is a line of JSON for programs.
func TestLogIsJSON(t *testing.T) {
	var shown strings.Builder
	a := &app{Terminal: &term.Terminal{Out: &shown}}
	a.follower.Store(new(follower))
	for _, params := range []string{`{"level":"info","logger":"disk","data":{"free":4},"_meta":{"a":1}}`, `{"level":"info","data":"full"}`} {
		a.hear(host.Event{Server: "s", Method: mcp.NotificationMessage, Params: []byte(params)})
	}
	if err := conforms(shown.String(), "wharf watch --log"); err != nil {
		t.Error(err)
	}
}
