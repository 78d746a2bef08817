package plugintest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// What is on a wire beside messages: the verbs bytes, raw and sees.

// sayBytes says bytes that are no message.
func sayBytes(g *harness, text string) error {
	p, err := unquote(text)
	if err != nil {
		return err
	}
	s, err := g.server.raw()
	if err != nil {
		return err
	}
	g.write(output{s, p, false})
	return g.pump()
}

// unquote returns the bytes of a step: a quoted Go string, or the text as it is.
func unquote(text string) ([]byte, error) {
	if !strings.HasPrefix(text, `"`) {
		if text == "" {
			return nil, errors.New("expected a text, in quotes or as it stands")
		}
		return []byte(text), nil
	}
	p, err := strconv.Unquote(text)
	if err != nil {
		return nil, fmt.Errorf("expected a quote that ends with the line, as in Go: %w", err)
	}
	return []byte(p), nil
}

// expects notes the bytes that later steps expect to see. No wire takes those for a message.
func (g *harness) expects(steps []Step) {
	for _, step := range steps {
		if p, err := unquote(step.Text); step.Verb == "sees" && err == nil {
			g.expected = append(g.expected, p)
		}
	}
}

// awaits reports whether a later step expects bytes that begin like heard.
func (g *harness) awaits(heard []byte) bool {
	return slices.ContainsFunc(g.expected, func(p []byte) bool {
		return bytes.HasPrefix(heard, p) || bytes.HasPrefix(p, heard)
	})
}

// sees expects that the next bytes on a stream are these, and lets the server go on behind
// them.
func sees(g *harness, text string) error {
	p, err := unquote(text)
	if err != nil {
		return err
	}
	for _, s := range g.streams {
		if bytes.HasPrefix(s.heard, p) {
			s.heard, g.expected = s.heard[len(p):], g.expected[1:]
			g.later(func() error { return g.server.wrote(s) })
			return g.pump()
		}
	}
	return fmt.Errorf("expected the server to be sent %s; %s", short(p), g.found())
}

// obstacle says what a guest that is not up may wait for: something that it wrote and that
// got no answer, or something that it may not open.
func (g *harness) obstacle() string {
	_, ofBytes := g.server.(*pipeServer)
	for _, s := range g.streams {
		if ofBytes && len(s.heard) > 0 {
			return unanswered(s.heard)
		}
	}
	if g.refusal != nil {
		return "; " + g.refusal.Error()
	}
	return ""
}

// unanswered quotes bytes that no rule of a profile matches.
func unanswered(p []byte) string {
	return "; the server was sent " + short(p) + ", which no rule of the profile answers"
}
