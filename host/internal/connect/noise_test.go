package connect

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// Of a process that starts for long, the first line on its stdout that is no message is
// warned of while it starts, once; of one that ends before, only its error says it.
func TestNoiseOfALongStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 4)
		start := func() *connection {
			c := &connection{
				server: &config.Server{Name: "chatty", Command: "chatty"}, peer: rpc.NewPeer(rpc.Config{}),
				secrets: new(redact.Set), warn: func(_, text string) { told <- text },
			}
			c.ended, c.end = context.WithCancel(context.Background())
			return c
		}
		long, short := start(), start()
		for _, line := range []string{"Listening on 8080", "Ready"} {
			long.dropped(rpc.ErrMalformed, []byte(line))
			short.dropped(rpc.ErrMalformed, []byte(line))
		}
		short.end()
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("told at once: %q", <-told)
		}
		time.Sleep(2 * noiseAfter)
		synctest.Wait()
		close(told)
		var got []string
		for text := range told {
			got = append(got, text)
		}
		if want := []string{`it wrote "Listening on 8080" to stdout, where only messages of MCP may be`}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}
