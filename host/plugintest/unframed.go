package plugintest

import (
	"bytes"
	"fmt"
	"strconv"
)

// What stands on a wire beside messages: the verbs bytes, raw and sees.

// speaks says bytes that are no message.
func speaks(g *stage, text string) error {
	p, err := quoted(text)
	if err != nil {
		return err
	}
	return g.server.raw(p)
}

func quoted(text string) ([]byte, error) {
	p, err := strconv.Unquote(text)
	if err != nil {
		return nil, fmt.Errorf("expected a quoted string: %w", err)
	}
	return []byte(p), nil
}

// sees expects that the next bytes that a stream has brought are these, and lets
// the server go on behind them.
func sees(g *stage, text string) error {
	p, err := quoted(text)
	if err != nil {
		return err
	}
	for _, s := range g.streams {
		if bytes.HasPrefix(s.heard, p) {
			s.heard = s.heard[len(p):]
			g.soon(func() error { return g.server.wrote(s) })
			return g.pump()
		}
	}
	return fmt.Errorf("expected the server to be sent %s; %s", short(p), g.news())
}

// silence says what the guest has written that got no answer.
func (g *stage) silence() string {
	v, ok := g.server.(*pipeServer)
	if !ok {
		return ""
	}
	for _, s := range g.streams {
		if len(s.heard) > 0 {
			return v.unanswered(s, s.heard)
		}
	}
	return ""
}

// unanswered says what nothing in a profile is about.
func (v *pipeServer) unanswered(s *stream, p []byte) string {
	return "; the server was sent " + short(p) + ", which no rule of the profile answers" + v.profile.awaited(v.known(s))
}
