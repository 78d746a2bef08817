package plugintest

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// server is the other side of a harness: it reads what the guest writes, and writes what
// the guest should understand.
type server interface {
	opened(s *stream) error
	wrote(s *stream) error

	// say says a message that belongs to an exchange, or to none. half says that
	// only its first half comes, and the next call brings the rest.
	say(exchange uint32, message string, half bool) error

	// raw says bytes that are not framed at all.
	raw(p []byte) error

	// leave ends everything in order, and crash by a failure.
	leave() error
	crash(status abi.Status) error
	release()
}

// wire is how messages look between a guest and a server.
type wire struct {
	name  string
	class string
	serve func(g *harness) server
}

// pipeWire is a wire of one byte stream that everything shares: a process, a socket, an
// HTTP exchange that was upgraded.
func pipeWire(class string, f framing, p *Profile) wire {
	return wire{f.name(), class, func(g *harness) server { return newPipeServer(g, f, p) }}
}

func newPipeServer(g *harness, f framing, p *Profile) *pipeServer {
	v := &pipeServer{stage: g, framing: f, profile: p, found: map[string]string{}, frames: map[uint32]map[string]string{}}
	for _, setting := range g.setup.settings {
		v.found[setting.Key] = setting.Value
	}
	return v
}

type pipeServer struct {
	stage   *harness
	framing framing
	profile *Profile
	streams []*stream                    // in the order in which they were opened
	found   map[string]string            // settings, and what replies of the profile have found
	frames  map[uint32]map[string]string // what was found in the frames of messages, by exchange
	rest    []byte                       // the second half of a message
	gone    bool
}

func (v *pipeServer) opened(s *stream) error {
	if s.kind == abi.OpenHTTP && !s.is(abi.Upgrade) {
		return errors.New("the guest opened an HTTP exchange beside its byte stream")
	}
	if s.closed {
		return nil
	}
	v.streams = append(v.streams, s)
	if s.kind == abi.OpenHTTP {
		s.head(101, upgradeHeaders(s.request.Headers), -1, nil, false)
	} else {
		s.Events.Sealed(toBytes(v.profile.Sealed)) // if it is empty, the guest hears OPENED alone
	}
	v.tell(s, expand(v.profile.Greeting, v.found))
	return nil
}

// upgradeHeaders are those of the 101 that answers a request, as far as a guest sees them. A
// host makes the key of a WebSocket itself, and checks the answer to it.
func upgradeHeaders(request []abi.Pair) (list []abi.Pair) {
	for _, h := range request {
		if strings.EqualFold(h.Key, "sec-websocket-protocol") {
			first, _, _ := strings.Cut(h.Value, ",")
			list = append(list, abi.Pair{Key: "sec-websocket-protocol", Value: strings.TrimSpace(first)})
		}
	}
	return list
}

// tell says something that is no message, if it is anything.
func (v *pipeServer) tell(s *stream, p []byte) {
	if len(p) > 0 && !v.gone {
		v.stage.say(s, p)
	}
}

// wrote answers what the profile has an answer for, and takes messages off.
func (v *pipeServer) wrote(s *stream) error {
	for len(s.heard) > 0 {
		if v.answered(s) {
			continue
		}
		if v.stage.awaits(s.heard) {
			return nil
		}
		f, err := v.framing.hear(v.stage, s.heard)
		if err != nil {
			return err
		}
		if f.size == 0 {
			break
		}
		s.heard = s.heard[f.size:]
		if f.message == nil {
			continue
		}
		exchange, err := v.stage.hears(f.message)
		if err != nil {
			return err
		}
		v.frames[exchange] = f.found
		v.taken(s, f.found)
	}
	if s.ended && len(s.heard) > 0 {
		return fmt.Errorf("the guest closed its side in the middle of a message: %s", short(s.heard))
	}
	return nil
}

// answered answers what has come first, if the profile has a rule for it.
func (v *pipeServer) answered(s *stream) bool {
	n, answer, ok := v.profile.answer(s.heard, v.found)
	if ok {
		s.heard = s.heard[n:]
		v.tell(s, answer)
	}
	return ok
}

// taken says that the server has a message, of which found is known.
func (v *pipeServer) taken(s *stream, found map[string]string) {
	values := maps.Clone(v.found)
	maps.Copy(values, found)
	v.tell(s, expand(v.profile.Taken, values))
}

var errNoStream = errors.New("the guest has opened nothing that the server could speak through")

// main is the stream that messages are said on.
func (v *pipeServer) main() (*stream, error) {
	n, opened := v.profile.SaidOn, len(v.streams)
	switch {
	case opened == 0:
		return nil, errNoStream
	case n > opened:
		return nil, fmt.Errorf("the server speaks on stream %d (profile: saidOn), and the guest has opened %d", n, opened)
	case n == 0:
		n = opened
	}
	return v.streams[n-1], nil
}

func (v *pipeServer) say(exchange uint32, message string, half bool) error {
	main, err := v.main()
	if err != nil {
		return err
	}
	p := v.rest
	if v.rest = nil; p == nil {
		if p, err = v.framing.say([]byte(message), v.found, v.frames[exchange]); err != nil {
			return err
		}
		if half {
			p, v.rest = p[:len(p)/2], p[len(p)/2:]
		}
	}
	v.stage.say(main, p)
	return v.stage.pump()
}

func (v *pipeServer) raw(p []byte) error {
	main, err := v.main()
	if err != nil {
		return err
	}
	v.stage.say(main, p)
	return v.stage.pump()
}

// leave ends every stream, as a server does that ends.
func (v *pipeServer) leave() error {
	if _, err := v.main(); err != nil {
		return err
	}
	v.gone = true
	for _, s := range v.streams {
		v.stage.flush(s, true)
		if s.kind == abi.OpenProcess {
			v.stage.later(func() error { s.finish(func() { s.Events.Exit(0, "") }); return nil })
		}
	}
	return v.stage.pump()
}

func (v *pipeServer) crash(status abi.Status) error {
	if _, err := v.main(); err != nil {
		return err
	}
	v.gone = true
	for _, s := range v.streams {
		v.stage.later(func() error {
			if s.kind == abi.OpenProcess {
				s.Events.End()
				s.finish(func() { s.Events.Exit(-1, "killed") })
			} else {
				s.fail(status)
			}
			return nil
		})
	}
	return v.stage.pump()
}

func (v *pipeServer) release() {
	for _, s := range v.streams {
		v.stage.flush(s, false)
	}
}

var errBroken = errors.New("the connection broke")
