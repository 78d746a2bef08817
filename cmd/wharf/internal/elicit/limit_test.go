package elicit

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// heard is a person who answers as they are told, and what they were shown.
type heard struct {
	*Asker
	typed *io.PipeWriter
	shown *strings.Builder
}

func hear(t *testing.T) *heard {
	t.Helper()
	in, typed := io.Pipe()
	t.Cleanup(func() { typed.Close() })
	shown := new(strings.Builder)
	return &heard{&Asker{Terminal: &term.Terminal{In: in, Err: shown}, Server: host.Server{Name: "files", Command: "mcp-files"}}, typed, shown}
}

// asks has the server ask once. lines are what the person types.
func (h *heard) asks(t *testing.T, lines ...string) (action, shown string) {
	t.Helper()
	h.shown.Reset()
	go func() {
		for _, line := range lines {
			io.WriteString(h.typed, line+"\n")
		}
	}()
	result, err := h.Elicit(t.Context(), mcp.Elicitation{Message: "More?"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // all that was typed was read
	return result.Action, h.shown.String()
}

// After three questions in a minute a server can be told to stop, and is declined
// from then on.
func TestServerIsToldToStopAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hear(t)
		for range 3 {
			if action, shown := h.asks(t, "y"); action != mcp.ElicitAccept || strings.Contains(shown, "stop") {
				t.Errorf("%s: %q", action, shown)
			}
			time.Sleep(10 * time.Second)
		}
		action, shown := h.asks(t, "what", "n")
		if action != mcp.ElicitDecline || !strings.Contains(shown, "files (mcp-files) has asked you 3 times or more within a minute, and asks again.\n") || strings.Contains(shown, "More?") {
			t.Errorf("%s: %q", action, shown)
		}
		for range 2 { // it is counted anew
			if _, shown := h.asks(t, "n"); strings.Contains(shown, "within a minute") {
				t.Errorf("%q", shown)
			}
		}
		if action, shown := h.asks(t, "y", "y"); action != mcp.ElicitAccept || !strings.Contains(shown, "within a minute") || !strings.Contains(shown, "│ More?\n") {
			t.Errorf("%s: %q", action, shown)
		}
		for range 2 {
			h.asks(t, "n")
		}
		if action, shown := h.asks(t, "s"); action != mcp.ElicitDecline || !strings.HasSuffix(shown, "note: files (mcp-files) has asked, and was declined, as you told it to stop (1); this ends with the command.\n") {
			t.Errorf("%s: %q", action, shown)
		}
		for range 1000 { // without a key
			if action, shown := h.asks(t); action != mcp.ElicitDecline || shown != "" {
				t.Fatalf("%s: %q", action, shown)
			}
		}
		time.Sleep(time.Hour)
		if action, shown := h.asks(t); action != mcp.ElicitDecline || !strings.HasPrefix(shown, "note: files (mcp-files) has asked, and was declined, as you told it to stop (1001);") {
			t.Errorf("%s: %q", action, shown)
		}
	})
}

// Questions that come slowly are no trouble.
func TestServerThatAsksNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hear(t)
		for i := range 20 {
			if action, shown := h.asks(t, "y"); action != mcp.ElicitAccept || strings.Contains(shown, "within a minute") {
				t.Errorf("%d: %s: %q", i, action, shown)
			}
			time.Sleep(askingPeriod / 3)
		}
	})
}

// Those who waited for the floor while the server was told to stop are not heard
// either.
func TestQuestionsThatWaitAreDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hear(t)
		_, leave, err := h.Dialog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		actions := make(chan string, 8)
		for range cap(actions) {
			go func() {
				result, err := h.Elicit(t.Context(), mcp.Elicitation{Message: "More?"})
				actions <- fmt.Sprint(result.Action, err)
			}()
		}
		synctest.Wait()
		h.limit.stop()
		leave()
		for range cap(actions) {
			if got := <-actions; got != "decline<nil>" {
				t.Error(got)
			}
		}
	})
}
