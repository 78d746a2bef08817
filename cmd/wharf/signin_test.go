package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/signin"
)

// What is piped in is an answer with or without the end of its line, and nothing
// is none.
func TestPrompt(t *testing.T) {
	for in, want := range map[string]string{"s3cret": "s3cret", "s3cret\n": "s3cret", "s3cret\r\nmore": "s3cret", "": "", "\n": ""} {
		a := &app{Terminal: &term.Terminal{In: strings.NewReader(in), Err: io.Discard}}
		got, err := a.prompt(t.Context(), signin.Question{Label: "secret", Secret: true})
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, signin.ErrDeclined) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}
