package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What is piped in is an answer with or without the end of its line, and nothing
// is none.
func TestPrompt(t *testing.T) {
	for in, want := range map[string]string{"s3cret": "s3cret", "s3cret\n": "s3cret", "s3cret\r\nmore": "s3cret", "": "", "\n": ""} {
		a := &app{stdio: stdio{in: strings.NewReader(in), err: io.Discard}}
		got, err := a.prompt(t.Context(), host.Question{Label: "secret", Secret: true})
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, host.ErrDeclined) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// What a server asks is not answered once the program is interrupted, until nobody
// waits for an answer.
func TestInterruptedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		defer typed.Close()
		life, interrupt := context.WithCancelCause(t.Context())
		a := &app{stdio: stdio{in: in, err: io.Discard}, life: life}
		ctx, over := context.WithCancel(t.Context())
		defer over()
		answers := make(chan mcp.ElicitResult, 1)
		go func() {
			answer, _ := (&asker{app: a, server: host.Server{Name: "files"}}).elicit(ctx, mcp.Elicitation{Message: "Shall I?"})
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

// The last words of the program wait for a question to end, and not for ever.
func TestLastWordsAfterAQuestion(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var a app
			_, leave, err := a.floor(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { a.endTalk(); close(ended) }()
			synctest.Wait()
			select {
			case <-ended:
				t.Error("the program spoke into the question")
			default:
			}
			if !stuck {
				leave()
			}
			<-ended
		})
	}
}
