// Package contestant holds the clients that are compared. Each is used as its
// documentation shows, with its defaults, and gets the same calls.
package contestant

import (
	"context"
	"fmt"
	"sync/atomic"
)

// The names of the contestants, and the order of the columns.
const (
	Floor = "floor"
	Wharf = "wharf"
	GoSDK = "go-sdk"
	MCPGo = "mcp-go"
)

// Names lists every contestant.
func Names() []string { return []string{Floor, Wharf, GoSDK, MCPGo} }

// Peers lists the products that Wharf is compared with.
func Peers() []string { return []string{GoSDK, MCPGo} }

// Address says where a server is.
type Address struct {
	Command []string // starts the server, if neither of the others is given
	URL     string   // of a running server, for Streamable HTTP
	Socket  string   // the path of the unix socket of a running server
}

// Dock says where a contestant connects to, and what it may use for that.
type Dock struct {
	Address
	Tuned    bool   // whether peers keep enough HTTP connections
	CacheDir string // for compiled plugins
	Heard    *Tally // counts the notifications
}

// Client is one connection. Echo may be called by many goroutines at a time.
type Client interface {
	// Tools lists the tools and returns how many there are.
	Tools(ctx context.Context) (int, error)

	// Echo has the server repeat a text, and checks the answer with it.
	Echo(ctx context.Context, text *Text) error

	// Flood has the server send that many notifications, and returns when the
	// answer has come. Notifications may still be counted after that.
	Flood(ctx context.Context, count int) error

	// Close ends the connection, and the server if Connect started it.
	Close() error
}

// Program holds what a contestant keeps from connection to connection.
type Program interface {
	Connect(ctx context.Context, to Address) (Client, error)

	// Close is called after every client was closed.
	Close() error
}

var programs = map[string]func(context.Context, Dock) (Program, error){
	Floor: stateless(connectFloor),
	Wharf: newWharf,
	GoSDK: stateless(connectGoSDK),
	MCPGo: stateless(connectMCPGo),
}

// Open prepares a contestant before its first connection.
func Open(ctx context.Context, name string, d Dock) (Program, error) {
	open, ok := programs[name]
	if !ok {
		return nil, fmt.Errorf("no contestant %q; there are %v", name, Names())
	}
	return open(ctx, d)
}

// stateless returns the Open of a contestant that has only a function that connects.
func stateless(connect func(context.Context, Dock) (Client, error)) func(context.Context, Dock) (Program, error) {
	return func(_ context.Context, d Dock) (Program, error) { return dialer{d, connect}, nil }
}

type dialer struct {
	dock    Dock
	connect func(context.Context, Dock) (Client, error)
}

func (d dialer) Connect(ctx context.Context, to Address) (Client, error) {
	dock := d.dock
	dock.Address = to
	return d.connect(ctx, dock)
}

func (d dialer) Close() error { return nil }

// arguments is the type of the arguments that every contestant passes to the tool. It is the
// type that a program usually has, and is encoded on every call.
type arguments = map[string]any

// Text is a text to echo. Every answer must have its length; the first is compared as a
// whole.
type Text struct {
	text string
	seen atomic.Bool
}

// NewText returns a text of size bytes, of which none needs an escape in JSON.
func NewText(size int) *Text {
	const letters = "abcdefghijklmnopqrstuvwxyz 0123456789"
	b := make([]byte, size)
	for i := range b {
		b[i] = letters[i%len(letters)]
	}
	return &Text{text: string(b)}
}

func (t *Text) arguments() arguments { return arguments{"message": t.text} }

// check compares the echoed text. Each contestant passes it in the form in which it got
// it.
func check[T string | []byte](t *Text, got T) error {
	if len(got) != len(t.text) {
		return fmt.Errorf("the echo has %d bytes, expected %d", len(got), len(t.text))
	}
	if t.seen.Load() {
		return nil
	}
	if string(got) != t.text {
		return fmt.Errorf("the echo differs from what was sent")
	}
	t.seen.Store(true)
	return nil
}

func floodArguments(count int) arguments { return arguments{"count": count} }

// Tally counts notifications.
type Tally struct {
	count atomic.Int64
	goal  atomic.Int64
	done  chan struct{}
}

// NewTally returns a tally without a goal.
func NewTally() *Tally { return &Tally{done: make(chan struct{}, 1)} }

// Expect starts the count anew. Done is ready once that many notifications were counted.
func (t *Tally) Expect(count int) {
	select {
	case <-t.done:
	default:
	}
	t.count.Store(0)
	t.goal.Store(int64(count))
}

// Done is ready when the goal is reached.
func (t *Tally) Done() <-chan struct{} { return t.done }

// Count returns how many notifications were counted.
func (t *Tally) Count() int { return int(t.count.Load()) }

func (t *Tally) add() {
	if t.count.Add(1) == t.goal.Load() {
		t.done <- struct{}{}
	}
}
