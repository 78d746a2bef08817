package plugintest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
)

// learned is a framing that the kit learns from the guest. Another instance of the guest sends the
// message that the server is to say, and the server says the same bytes. So it serves only
// framings that are the same both ways and have no state.
type learned struct {
	harness *harness // of the instance that shows what it writes
	server  *pipeServer

	mu    sync.Mutex // of frame, which any goroutine may call
	known map[string][]byte
}

func (*learned) name() string { return "learned from the guest" }

func (l *learned) hear(g *harness, p []byte) (frame, error) {
	for n := uint32(1); n <= g.highest; n++ {
		x := g.of(n)
		if !x.unheard {
			continue
		}
		written, err := l.frame(x.sent)
		switch {
		case err != nil:
			return frame{}, err
		case bytes.HasPrefix(p, written):
			return frame{message: []byte(x.sent), size: len(written)}, nil
		case bytes.HasPrefix(written, p):
			return frame{}, nil
		}
	}
	return frame{}, fmt.Errorf("the guest wrote what it does not write for any message: %s", short(p))
}

func (l *learned) say(m []byte, _, _ map[string]string) ([]byte, error) { return l.frame(string(m)) }

// frame returns the bytes that the guest writes when it sends a message. It makes the
// guest send each message once, and remembers the result.
func (l *learned) frame(message string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if written, ok := l.known[message]; ok {
		return written, nil
	}
	written, err := l.takes(l.harness.highest+1, message)
	if err != nil {
		return nil, fmt.Errorf("to learn how a message is framed: %w", err)
	}
	if len(l.known) < 1<<10 {
		l.known[message] = written
	}
	return written, nil
}

// takes returns what the guest wrote to send a message, and tells it that the server has
// the message.
func (l *learned) takes(exchange uint32, message string) ([]byte, error) {
	l.server.written = nil
	if err := l.harness.send(exchange, message); err != nil {
		return nil, err
	}
	written := bytes.Clone(l.server.written)
	if len(written) == 0 {
		return nil, errors.New("the guest wrote nothing when it was to send a message")
	}
	l.server.taken(l.server.last, nil)
	return written, l.harness.pump()
}
