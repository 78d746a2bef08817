// Command hostile is a guest that does what its setting "mode" says when the
// first bytes arrive. It is built by the tests of package guest.
package main

import (
	"strings"
	"unsafe"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &hostile{}) }

func main() {}

var manifest = abi.Manifest{
	Name: "hostile", Version: "0",
	Settings: []abi.Pair{{Key: "mode", Value: "what to do"}},
	Grants:   []abi.Grant{{Kind: abi.OpenStream, Name: "main"}},
}

type hostile struct {
	conn   *sdk.Conn
	mode   string
	handle sdk.Handle
	sink   [][]byte
	timers int
}

func (h *hostile) Open(c *sdk.Conn, s *abi.Settings) (err error) {
	h.conn, h.mode = c, s.Value("mode")
	h.handle, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	c.Up()
	return err
}

func (h *hostile) Message(m sdk.Message) (sdk.Outcome, error) {
	if h.mode == "forever" {
		for {
			h.handle.Forward(m.Payload, abi.More)
		}
	}
	switch h.mode {
	case "works":
		h.work()
	case "pings":
		h.work()
		h.ping()
		return sdk.HandedOver, nil
	}
	h.handle.Forward(m.Payload, abi.More)
	h.handle.Write([]byte("\n"), abi.More)
	return sdk.HandedOver, nil
}

func (h *hostile) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventOpened:
		if e.Sealed() {
			h.pry(e)
		}
	case abi.EventData:
		h.misbehave(e)
	case abi.EventEnd:
		h.handle.Close()
	case abi.EventTimer:
		h.timers++
		spin(1 << 16)
		h.conn.Timer(1, 1)
	case abi.EventError:
		h.work()
		h.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
	}
	return nil
}

// work is less than an event brings with it.
func (h *hostile) work() { spin(1 << 12) }

// ping makes up a request of the server.
func (h *hostile) ping() { h.conn.Deliver(0, []byte(`{"method":"ping","id":1}`), abi.End) }

//go:noinline
func spin(n int) (sum int) {
	for i := range n {
		sum ^= i * sum
	}
	return sum
}

func recurse(n int) int {
	if n < 0 {
		return 0
	}
	return recurse(n+1) + n
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func (h *hostile) misbehave(e sdk.Event) {
	switch h.mode {
	case "spin":
		for {
			spin(1 << 20)
		}
	case "recurse":
		recurse(0)
	case "fib":
		fib(200)
	case "memory":
		for {
			h.sink = append(h.sink, make([]byte, 1<<20))
		}
	case "panic":
		panic("the pigeon is dead")
	case "nil":
		*(*int)(nil) = 1
	case "deadlock":
		select {}
	case "flood":
		for {
			h.conn.Timer(2, 60_000)
		}
	case "scan":
		for {
			e.Scan(abi.PackNeedles("\x00"))
		}
	case "log":
		for {
			h.conn.Log(abi.LevelError, "flood")
		}
	case "report":
		for {
			h.conn.Done(7)
		}
	case "opens":
		for {
			h.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
		}
	case "pings":
		h.ping()
	case "errors":
		h.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
	case "timer":
		h.conn.Timer(1, 1)
	case "garbage": // which is no crime
		h.sink = append(h.sink[:0], make([]byte, 1<<10))
	case "write":
		big := make([]byte, 1<<20)
		for {
			h.handle.Write(big, abi.More)
		}
	case "deliver":
		for {
			e.Deliver(0, abi.More)
		}
	case "exchanges":
		for n := uint32(1); ; n++ {
			e.Deliver(n, abi.More)
		}
	case "pointer":
		write(h.handle.ID(), unsafe.Pointer(uintptr(0xfffffff0)), 64, 0)
	case "length":
		var b [1]byte
		write(h.handle.ID(), unsafe.Pointer(&b), 0xffffffff, 0)
	case "window":
		deliver(0, 1, 0xffffffff, 1)
	case "forward":
		forward(h.handle.ID(), 0xffffffff, 2, 0)
	case "block":
		open(2, 0, unsafe.Pointer(&[]byte{9, 0, 0, 0, 1}[0]), 5)
	case "save":
		if h.conn.Save(make([]byte, abi.MaxSavedState+1)) != abi.TooLarge {
			panic("a large state was kept")
		}
	case "strangers":
		for id := range uint32(1 << 12) {
			if id != h.handle.ID() && forward(id, 0, 1, 0) != int32(abi.Closed) {
				panic("a handle that is not ours")
			}
		}
	case "queue":
		h.handle.Write(make([]byte, e.Len()), abi.More)
	case "later":
		h.handle.Forward(e.Payload, abi.More)
	case "pieces":
		h.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
	case "words":
		rude := "\x1b[31m\u202e\u200b\xff\n" + strings.Repeat("x", 64<<10)
		h.conn.Failed(7, abi.Internal, rude)
		h.conn.Log(abi.LevelWarn, rude)
	case "ended":
		h.conn.Ended()
	case "second":
		other, _ := h.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
		other.Write(make([]byte, 1<<10), abi.More)
	case "spread":
		for range 8 {
			other, _ := h.conn.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main"})
			other.Write(make([]byte, 1<<10), abi.More)
		}
	case "lies":
		h.conn.Failed(99, abi.OK, "")
		h.conn.Done(12345)
		report(77, 0, 0, nil, 0)
	}
}

//go:wasmimport wharf1 write
func write(handle uint32, ptr unsafe.Pointer, size, flags uint32) int32

//go:wasmimport wharf1 deliver
func deliver(exchange, off, size, flags uint32) int32

//go:wasmimport wharf1 forward
func forward(handle, off, size, flags uint32) int32

//go:wasmimport wharf1 open
func open(kind, exchange uint32, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport wharf1 report
func report(what, exchange, code uint32, ptr unsafe.Pointer, size uint32) int32
