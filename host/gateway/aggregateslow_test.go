package gateway_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Elements of lists.
const (
	toolOne = `{"name":"one","inputSchema":{"type":"object"}}`
	toolTwo = `{"name":"two","inputSchema":{"type":"object"}}`
)

// setTools has a server list other tools, without a word.
func (f *fake) setTools(tools string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = tools
}

// bubble runs a test in its own time, for clients of both eras.
func bubble(t *testing.T, test func(t *testing.T, era string)) {
	for _, era := range []string{legacy, modern} {
		t.Run(era, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, era) }) })
	}
}

// listen has a modern client hear of tools that change. A legacy one hears of them anyway.
func (c *speaker) listen() {
	if c.era == modern {
		c.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		c.hears(mcp.NotificationAcknowledged)
	}
}

// A list is fetched when its changes are reported: one that comes in between would be lost. A server that
// does not report them in time is asked again when it does.
func TestAggregateWatchesBeforeItLists(t *testing.T) {
	bubble(t, func(t *testing.T, era string) {
		p := newPair(t, modern, modern)
		files, notes := p.play(p.servers, "files", modern, toolOne, ""), p.play(p.notes, "notes", modern, toolOne, "")
		files.slow, notes.slow = time.Second, 3*time.Second
		c := p.speaker(era)
		id := c.ask("tools/list", `{}`)
		time.Sleep(500 * time.Millisecond)
		files.setTools(toolTwo) // which no client has asked to hear of
		c.hears(id, `files__two`, `notes__one`)
		c.listen()
		notes.setTools(toolTwo)
		c.hears(mcp.NotificationToolsListChanged)
		c.contains("tools/list", `{}`, `files__two`, `notes__two`)
	})
}

// A server that cannot be reached at first is asked for its list again, and then heard as the others are.
func TestAggregateServerComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, era string) {
		var away atomic.Bool
		var dials atomic.Int32
		away.Store(true)
		p := newPair(t, legacy, legacy, func(hc *host.Config, _ *gateway.Config) {
			reach := hc.Streams["notes"]
			hc.Streams["notes"] = func(ctx context.Context) (io.ReadWriteCloser, error) {
				if dials.Add(1); away.Load() {
					return nil, errors.New("it is away")
				}
				return reach(ctx)
			}
		})
		p.play(p.servers, "files", legacy, toolOne, "")
		notes := p.play(p.notes, "notes", legacy, toolOne, "")
		c := p.speaker(era)
		c.contains("tools/list", `{}`, `"tools":[{"name":"files__one",`, `}]`)
		c.listen()
		time.Sleep(time.Hour)
		if n := dials.Load(); n < 15 || n > 60 {
			t.Errorf("the server was dialled %d times in an hour", n)
		}
		away.Store(false)
		c.hears(mcp.NotificationToolsListChanged)
		c.contains("tools/list", `{}`, `files__one`, `notes__one`)
		notes.setTools(toolTwo)
		notes.tell(mcp.NotificationToolsListChanged, "")
		c.hears(mcp.NotificationToolsListChanged)
		c.contains("tools/list", `{}`, `files__one`, `notes__two`)
	})
}

// A server that refuses the level of a client of all servers may log at any level: the client hears its own.
func TestAggregateLevelRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, legacy, legacy)
		files := p.play(p.servers, "files", legacy, toolOne, "")
		files.refused = mcp.MethodSetLevel
		c := p.speaker(legacy)
		c.contains("tools/call", `{"name":"files__one","arguments":{}}`, `files got`)
		files.tell(mcp.NotificationMessage, `"level":"info","data":1`)
		c.hears(`"level":"info","data":1`)
		c.contains("logging/setLevel", `{"level":"error"}`, `"result":{}`)
		files.tell(mcp.NotificationMessage, `"level":"info","data":2`)
		files.tell(mcp.NotificationMessage, `"level":"error","data":3`)
		c.hears(`"level":"error","data":3`)
	})
}

// A level reaches a server that is being connected, and one that does not answer holds up no other.
func TestAggregateLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, legacy, legacy)
		files, notes := p.play(p.servers, "files", legacy, toolOne, ""), p.play(p.notes, "notes", legacy, toolOne, "")
		files.hung = map[string]bool{mcp.MethodSetLevel: true}
		notes.late = make(chan struct{})
		c := p.speaker(legacy)
		c.contains("tools/call", `{"name":"files__one","arguments":{}}`, `files got`)
		call := c.ask("tools/call", `{"name":"notes__one","arguments":{}}`)
		synctest.Wait()
		began := time.Now()
		c.contains("logging/setLevel", `{"level":"debug"}`, `"result":{}`)
		c.contains("logging/setLevel", `{"level":"error"}`, `"result":{}`)
		if waited := time.Since(began); waited > 5*time.Second {
			t.Errorf("the level took %v", waited)
		}
		close(notes.late)
		c.hears(call, `notes got`)
		synctest.Wait()
		notes.mu.Lock()
		if got := strings.Join(notes.levels, ""); got != `{"level":"error"}` {
			t.Errorf("the server was told %s", got)
		}
		notes.mu.Unlock()
	})
}

// A server that does not agree to report a resource holds up the stream for 8 s, and is left out.
func TestAggregateListenIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, legacy, legacy)
		files := p.play(p.servers, "files", legacy, toolOne, `{"uri":"a:1","name":"x"}`)
		notes := p.play(p.notes, "notes", legacy, toolOne, `{"uri":"b:1","name":"x"}`)
		files.hung = map[string]bool{mcp.MethodSubscribe: true}
		c := p.speaker(modern)
		c.contains("resources/list", `{}`, `a:1`, `b:1`)
		began := time.Now()
		c.ask("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1","b:1"]}}`)
		c.hears(mcp.NotificationAcknowledged, `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["b:1"]}`)
		if waited := time.Since(began); waited != 8*time.Second {
			t.Errorf("the stream was opened after %v", waited)
		}
		notes.tell(mcp.NotificationResourceUpdated, `"uri":"b:1"`)
		c.hears(mcp.NotificationResourceUpdated, `"uri":"b:1"`)
	})
}

// A call by a name with a hash, whose server does not list its tools, says which server that is.
func TestAggregateCallOfAnUnlistedTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, legacy, legacy)
		p.play(p.servers, "files", legacy, toolOne, "")
		p.play(p.notes, "notes", legacy, "", "").hung = map[string]bool{mcp.MethodListTools: true}
		c := p.speaker(legacy)
		began := time.Now()
		c.contains("tools/call", `{"name":"notes-0123456789abcdef__odd"}`, `"code":-32603,`, `notes-0123456789abcdef__odd may be a tool of notes, which has not listed what it has"`)
		if waited := time.Since(began); waited > 8*time.Second {
			t.Errorf("the call ended after %v", waited)
		}
		c.contains("tools/call", `{"name":"files__one"}`, `files got`)
	})
}

// The resources of a template are found before a client has asked for any list, and a
// URI that no server lists is left out.
func TestAggregateFindsUnlistedResources(t *testing.T) {
	const made = `{"uri":"b:7"}`
	for _, request := range []struct{ era, method, params, want string }{
		{legacy, "resources/read", made, `"uri":"b:7","text":"notes"`},
		{modern, "resources/read", made, `"uri":"b:7","text":"notes"`},
		{legacy, "resources/read", `{"uri":"a:1"}`, `"uri":"a:1","text":"files"`},
		{legacy, "resources/subscribe", made, `"result":{}`},
		{modern, "subscriptions/listen", `{"notifications":{"resourceSubscriptions":["b:7","none:"]}}`, `"notifications":{"resourceSubscriptions":["b:7"]}`},
		{legacy, "completion/complete", `{"ref":{"type":"ref/resource","uri":"b:{n}"},"argument":{"name":"n","value":""}}`, `"values":["notes b:{n}"]`},
		{modern, "completion/complete", `{"ref":{"type":"ref/resource","uri":"b:{n}"},"argument":{"name":"n","value":""}}`, `"values":["notes b:{n}"]`},
	} {
		t.Run(request.era+" "+request.method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPair(t, request.era, request.era)
				p.play(p.servers, "files", request.era, toolOne, `{"uri":"a:1","name":"x"}`)
				p.play(p.notes, "notes", request.era, toolOne, "").templates = `{"uriTemplate":"b:{n}","name":"x"}`
				c := p.speaker(request.era)
				c.ask(request.method, request.params)
				c.hears(request.want)
			})
		})
	}
}

// A URI that a server may list that does not answer is not said to be listed by none, and holds up a client once.
func TestAggregateReadWithASilentServer(t *testing.T) {
	bubble(t, func(t *testing.T, era string) {
		p := newPair(t, era, era)
		files := p.play(p.servers, "files", era, toolOne, "")
		files.templates = `{"uriTemplate":"a:{n}","name":"x"}`
		p.play(p.notes, "notes", era, "", "").hung = map[string]bool{mcp.MethodListTemplates: true}
		c := p.speaker(era)
		began := time.Now()
		for range 3 {
			c.contains("resources/read", `{"uri":"none:"}`, `"code":-32603,`, `none: may be a resource of notes, which has not listed what it has"`)
		}
		if waited := time.Since(began); waited > 8*time.Second {
			t.Errorf("the reads ended after %v", waited)
		}
		c.contains("resources/read", `{"uri":"a:1"}`, `"uri":"a:1","text":"files"`)
	})
}
