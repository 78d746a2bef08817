package elicit

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What a server asks is not answered once the program is interrupted, until the
// server waits no longer.
func TestInterruptedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		defer typed.Close()
		life, interrupt := context.WithCancelCause(t.Context())
		a := &Asker{Terminal: &term.Terminal{In: in, Err: io.Discard, Life: life}, Server: host.Server{Name: "files"}}
		ctx, over := context.WithCancel(t.Context())
		defer over()
		answers := make(chan mcp.ElicitResult, 1)
		go func() {
			answer, _ := a.Elicit(ctx, mcp.Elicitation{Message: "Shall I?"})
			answers <- answer
		}()
		synctest.Wait()
		interrupt(exit.ErrInterrupted)
		synctest.Wait()
		select {
		case answer := <-answers:
			t.Fatalf("answered with %q", answer.Action)
		default:
		}
		over()
		if answer := <-answers; answer.Action != mcp.ElicitCancel {
			t.Errorf("ended with %q", answer.Action)
		}
	})
}
