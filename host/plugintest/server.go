package plugintest

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
)

// server is the other side of a harness. It reads what the guest writes, and turns messages for
// the guest into bytes. The harness itself takes care of halves, pauses and ends.
type server interface {
	opened(s *stream) error
	wrote(s *stream) error

	// message returns the bytes of a message. exchange is 0 for a message that belongs to no
	// exchange. A halved message has its second half later, so no part of it comes with a head.
	message(exchange uint32, text string, halved bool) (output, error)

	// raw returns the stream for bytes that are no message.
	raw() (*stream, error)
}

// output has the bytes that a server writes to a stream. bytes may be nil. If last is set,
// the stream ends after them.
type output struct {
	on    *stream
	bytes []byte
	last  bool
}

// wire says how messages look between a guest and a server.
type wire struct {
	name  string
	class string
	serve func(g *harness) server
}

// pipeWire returns a wire of one byte stream that all messages share: a process, a socket, or an
// HTTP exchange that was upgraded.
func pipeWire(class string, f framing, p *Profile) wire {
	return wire{f.name(), class, func(g *harness) server { return newPipeServer(g, f, p) }}
}

func newPipeServer(g *harness, f framing, p *Profile) *pipeServer {
	v := &pipeServer{harness: g, framing: f, profile: p, found: map[string]string{}, frames: map[uint32]map[string]string{}}
	for _, setting := range g.setup.settings {
		v.found[setting.Key] = setting.Value
	}
	return v
}

// pipeServer speaks on byte streams. Without a framing it takes nothing for a message, and
// keeps what is written.
type pipeServer struct {
	harness *harness
	framing framing // or nil
	profile *Profile
	streams []*stream                    // in the order in which they were opened
	found   map[string]string            // settings, and what replies of the profile have found
	frames  map[uint32]map[string]string // what was found in the frames of messages, by exchange
	written []byte                       // without a framing, and the stream where that came last
	last    *stream
}

func (v *pipeServer) opened(s *stream) error {
	plainHTTP := s.kind == abi.OpenHTTP && !s.upgrades()
	switch {
	case plainHTTP && v.framing != nil:
		return errors.New("the guest opened an HTTP exchange beside its byte stream")
	case plainHTTP || s.closed:
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

// upgradeHeaders returns the headers of the 101 that answers a request, as far as a guest
// sees them. A host makes the key of a WebSocket itself, and checks the answer to it.
func upgradeHeaders(request []abi.Pair) (list []abi.Pair) {
	for _, h := range request {
		if strings.EqualFold(h.Key, "sec-websocket-protocol") {
			first, _, _ := strings.Cut(h.Value, ",")
			list = append(list, abi.Pair{Key: "sec-websocket-protocol", Value: strings.TrimSpace(first)})
		}
	}
	return list
}

// tell says bytes that are no message. It says nothing if p is empty.
func (v *pipeServer) tell(s *stream, p []byte) {
	if len(p) > 0 && !v.harness.gone {
		v.harness.write(output{s, p, false})
	}
}

// wrote answers bytes for which the profile has an answer, and takes complete messages off
// the stream.
func (v *pipeServer) wrote(s *stream) error {
	for len(s.heard) > 0 {
		if n, answer, ok := v.profile.answer(s.heard, v.found); ok {
			s.heard = s.heard[n:]
			v.tell(s, answer)
			continue
		}
		if v.framing == nil {
			v.written, v.last, s.heard = append(v.written, s.heard...), s, nil
			return nil
		}
		if v.harness.awaits(s.heard) {
			return nil
		}
		f, err := v.framing.hear(v.harness, s.heard)
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
		exchange, err := v.harness.hears(f.message)
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

// taken says that the server has a message. found is what was found in its frame.
func (v *pipeServer) taken(s *stream, found map[string]string) {
	values := maps.Clone(v.found)
	maps.Copy(values, found)
	v.tell(s, expand(v.profile.Taken, values))
}

var (
	errNoStream = errors.New("the guest has opened nothing that the server could speak through")
	errBroken   = errors.New("the connection broke")
)

// raw returns the stream that messages are said on, too.
func (v *pipeServer) raw() (*stream, error) {
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

func (v *pipeServer) message(exchange uint32, text string, _ bool) (output, error) {
	s, err := v.raw()
	if err != nil {
		return output{}, err
	}
	p, err := v.framing.say([]byte(text), v.found, v.frames[exchange])
	return output{s, p, false}, err
}
