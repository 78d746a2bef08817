package plugintest

import (
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
)

// server is the other side of a stage: it understands what the guest writes, and
// speaks so that the guest should understand.
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
type wire interface {
	name() string
	class() string
	serve(g *stage) server
}

// pipe is a wire of one byte stream that everything shares: a process, a socket,
// an HTTP exchange that was upgraded.
type pipe struct {
	kind    string
	framing framing
	profile *Profile
}

func (p *pipe) name() string  { return p.framing.name() }
func (p *pipe) class() string { return p.kind }

func (p *pipe) serve(g *stage) server {
	return &pipeServer{stage: g, framing: p.framing.fresh(), profile: p.profile, vars: map[string]string{}}
}

type pipeServer struct {
	stage   *stage
	framing framing
	profile *Profile
	main    *stream
	vars    map[string]string // what replies of the profile have found
	rest    []byte            // the second half of a message
	gone    bool
}

func (v *pipeServer) opened(s *stream) error {
	if s.kind == abi.OpenHTTP && !s.is(abi.Upgrade) {
		return errors.New("the guest opened an HTTP exchange beside its byte stream")
	}
	if s.closed {
		return nil
	}
	v.main = s
	if s.kind == abi.OpenHTTP {
		s.sink.Head(101, v.profile.upgrade(), -1, nil, false)
	} else {
		s.sink.Opened()
	}
	if hello := v.profile.greeting(); len(hello) > 0 {
		v.stage.say(s, hello)
	}
	return nil
}

// wrote answers what the profile has an answer for, and takes messages off.
func (v *pipeServer) wrote(s *stream) error {
	for len(s.heard) > 0 {
		if n, answer, ok := v.profile.answer(s.heard, v.vars); ok {
			s.heard = s.heard[n:]
			if len(answer) > 0 && !v.gone {
				v.stage.say(s, answer)
			}
			continue
		}
		message, n, err := v.framing.hear(v.stage, s.heard)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		s.heard = s.heard[n:]
		if message == nil {
			continue
		}
		exchange, err := v.stage.hears(message)
		if err != nil {
			return err
		}
		v.framing.heard(exchange)
	}
	if s.ended && len(s.heard) > 0 {
		return fmt.Errorf("the guest closed its side in the middle of a message: %s", short(s.heard))
	}
	return nil
}

var errNoStream = errors.New("the guest has opened nothing that the server could speak through")

func (v *pipeServer) say(exchange uint32, message string, half bool) error {
	if v.main == nil {
		return errNoStream
	}
	p := v.rest
	if v.rest = nil; p == nil {
		var err error
		if p, err = v.framing.say(exchange, []byte(message), v.vars); err != nil {
			return err
		}
		if half {
			p, v.rest = p[:len(p)/2], p[len(p)/2:]
		}
	}
	v.stage.say(v.main, p)
	return v.stage.pump()
}

func (v *pipeServer) raw(p []byte) error {
	if v.main == nil {
		return errNoStream
	}
	v.stage.say(v.main, p)
	return v.stage.pump()
}

func (v *pipeServer) leave() error {
	if v.main == nil {
		return errNoStream
	}
	v.gone = true
	v.stage.utter(v.main, true)
	if v.main.kind == abi.OpenProcess {
		v.stage.soon(func() error { v.main.sink.Exit(0, ""); return nil })
	}
	return v.stage.pump()
}

func (v *pipeServer) crash(status abi.Status) error {
	if v.main == nil {
		return errNoStream
	}
	v.gone = true
	v.stage.soon(func() error {
		if v.main.kind == abi.OpenProcess {
			v.main.sink.End()
			v.main.sink.Exit(-1, "killed")
		} else {
			v.main.sink.Error(status, errBroken)
		}
		return nil
	})
	return v.stage.pump()
}

func (v *pipeServer) release() {
	if v.main != nil {
		v.stage.utter(v.main, false)
	}
}

var errBroken = errors.New("the connection broke")
