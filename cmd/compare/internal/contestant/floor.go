package contestant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"sync"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/wire"
)

// floor is the lower bound over stdio and sockets. It writes finished requests to a pipe,
// finds answers by newline and id, and reads them in place. It multiplexes as a client
// must, in the cheapest known way: the goroutine that holds the pipe writes for all, and
// one of the waiting goroutines reads for all. It decodes and encodes nothing, checks no
// message and keeps no deadline.
type floor struct {
	command *exec.Cmd // nil if the server already runs
	in      io.WriteCloser
	out     io.Reader
	heard   *Tally

	lines wire.Lines // of the reading goroutine

	mu      sync.Mutex
	seats   []*seat // by id
	free    []*seat
	writing bool
	queue   []byte // for the writing goroutine
	spare   []byte // the previous queue, to be used again
	reading bool
}

// seat is the place of one request in flight. The fields below the line are
// guarded by the floor's mu.
type seat struct {
	id      int
	request []byte // asks for text to be echoed
	text    *Text

	answered bool
	waiting  bool
	result   []byte // where no text is expected
	err      error
	wake     chan struct{} // the answer is there, or it is this one's turn to read
}

func connectFloor(ctx context.Context, d Dock) (Client, error) {
	if d.URL != "" {
		return connectWebFloor(ctx, d)
	}
	f := &floor{heard: d.Heard}
	if err := f.open(d.Address); err != nil {
		return nil, err
	}
	_, err := f.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"floor","version":"1.0.0"}}`)
	return f, err
}

func (f *floor) open(a Address) (err error) {
	if a.Socket != "" {
		c, err := net.Dial("unix", a.Socket)
		f.in, f.out = c, c
		return err
	}
	f.command = exec.Command(a.Command[0], a.Command[1:]...)
	if f.in, err = f.command.StdinPipe(); err != nil {
		return err
	}
	if f.out, err = f.command.StdoutPipe(); err != nil {
		return err
	}
	return f.command.Start()
}

func (f *floor) Close() error {
	err := f.in.Close()
	if f.command != nil {
		err = f.command.Wait()
	}
	return err
}

func (f *floor) Tools(context.Context) (int, error) {
	list, err := f.ask("tools/list", `{}`)
	return bytes.Count(list, []byte(`"inputSchema"`)), err
}

func (f *floor) Flood(_ context.Context, count int) error {
	_, err := f.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"count":%d}}`, server.Flood, count))
	return err
}

func (f *floor) Echo(_ context.Context, text *Text) error {
	s, crowded := f.sit()
	defer f.leave(s)
	if s.text != text {
		s.text = text
		s.request = echoRequest(s.id, text)
	}
	return f.exchange(s, s.request, crowded)
}

// ask sends any request and returns its result.
func (f *floor) ask(method, params string) ([]byte, error) {
	s, crowded := f.sit()
	defer f.leave(s)
	s.text = nil
	err := f.exchange(s, request(s.id, method, params), crowded)
	return s.result, err
}

func request(id int, method, params string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
}

func echoRequest(id int, text *Text) []byte {
	return request(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"message":%q}}`, server.Echo, text.text))
}

// sit takes a seat, and reports whether others are taken.
func (f *floor) sit() (s *seat, crowded bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.free) - 1
	if last < 0 {
		s = &seat{id: len(f.seats), wake: make(chan struct{}, 1)}
		f.seats = append(f.seats, s)
		return s, len(f.seats) > 1
	}
	s, f.free = f.free[last], f.free[:last]
	s.answered, s.err = false, nil
	return s, last < len(f.seats)-1
}

func (f *floor) leave(s *seat) {
	f.mu.Lock()
	f.free = append(f.free, s)
	f.mu.Unlock()
}

func (f *floor) exchange(s *seat, request []byte, crowded bool) error {
	if err := f.send(request, crowded); err != nil {
		return err
	}
	return f.await(s)
}

// send writes a request, or leaves it to the goroutine that writes. In a crowd the
// others get a chance to add theirs first.
func (f *floor) send(request []byte, crowded bool) error {
	f.mu.Lock()
	if f.writing || crowded {
		f.queue = append(f.queue, request...)
		request = nil
	}
	if f.writing {
		f.mu.Unlock()
		return nil
	}
	f.writing = true
	f.mu.Unlock()
	if crowded {
		runtime.Gosched()
		request = f.next()
	}
	for len(request) > 0 {
		if _, err := f.in.Write(request); err != nil {
			return err // the pipe is gone: no other caller can write either
		}
		request = f.next()
	}
	return nil
}

// next takes the queued requests. If there are none, writing has ended.
func (f *floor) next() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	batch := f.queue
	f.queue, f.spare = f.spare[:0], batch
	f.writing = len(batch) > 0
	return batch
}

// await returns when the seat's answer is there. No other caller reads while it still
// writes: with both pipes full, that would be for ever.
func (f *floor) await(s *seat) error {
	f.mu.Lock()
	for !s.answered && f.reading {
		s.waiting = true
		f.mu.Unlock()
		<-s.wake
		f.mu.Lock()
	}
	defer f.mu.Unlock()
	if s.answered {
		return s.err
	}
	return f.read(s)
}

// read handles messages until one is the seat's own answer, and passes the turn on. The
// caller holds mu, and holds it again afterwards.
func (f *floor) read(s *seat) error {
	f.reading = true
	for !s.answered {
		f.mu.Unlock()
		err := f.lines.Fill(f.out)
		f.mu.Lock()
		for line, ok := f.lines.Next(); ok; line, ok = f.lines.Next() {
			f.deliver(line)
		}
		if err != nil && !s.answered {
			s.err = fmt.Errorf("read from the server: %w", err)
			break
		}
	}
	f.reading = false
	for _, other := range f.seats {
		if other.waiting {
			other.rouse()
			break
		}
	}
	return s.err
}

// deliver passes a message to the seat that it answers, or counts a notification.
func (f *floor) deliver(line []byte) {
	id, result := envelope(line)
	if id == nil {
		f.heard.add()
		return
	}
	n, err := strconv.Atoi(string(id))
	if err != nil || n < 0 || n >= len(f.seats) {
		return
	}
	f.seats[n].accept(result)
}

// envelope returns the id and the result of a message, as they are written.
func envelope(message []byte) (id, result []byte) {
	m := wire.Over(message)
	m.Enter()
	for name, ok := m.Next(); ok; name, ok = m.Next() {
		switch string(name) {
		case "id":
			id = m.Value()
		case "result":
			result = m.Value()
		default:
			m.Value()
		}
	}
	return id, result
}

var errNoResult = errors.New("the answer has no result")

// accept takes the answer. It checks a text in place, without a copy.
func (s *seat) accept(result []byte) {
	s.answered = true
	switch {
	case result == nil:
		s.err = errNoResult
	case s.text == nil:
		s.result = bytes.Clone(result)
	default:
		s.err = check(s.text, server.Text(result))
	}
	if s.waiting {
		s.rouse()
	}
}

func (s *seat) rouse() {
	s.waiting = false
	s.wake <- struct{}{}
}
