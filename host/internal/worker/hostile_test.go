package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// A fraud is a worker that does at DESCRIBE what no honest one does.
type hostileWorker struct {
	do    func(out io.Writer, in *frames)
	says  string // what becomes of the connection
	early bool   // it does so instead of starting
}

// play is the process of a fraud.
func (f hostileWorker) play() {
	in, out := reader(os.Stdin), os.Stdout
	in.next()
	if !f.early {
		out.Write((&eventEnd{pages: 2}).append(nil))
		in.next()
	}
	f.do(out, in)
	io.Copy(io.Discard, in.in) // it stays for as long as there is a host
	os.Exit(0)
}

func reader(from io.Reader) *frames {
	return &frames{in: bufio.NewReader(from), most: func(tag) (uint32, bool) { return math.MaxInt32, true }}
}

// sends is a fraud that sends frames, or what should be some.
func sends(all ...[]byte) func(io.Writer, *frames) {
	return func(out io.Writer, _ *frames) {
		for _, f := range all {
			out.Write(f)
		}
	}
}

// again sends a frame for ever, whatever it is told.
func again(frame []byte) func(io.Writer, *frames) {
	return func(out io.Writer, in *frames) {
		go io.Copy(io.Discard, in.in)
		many := bufio.NewWriterSize(out, 1<<20)
		for {
			if _, err := many.Write(frame); err != nil {
				os.Exit(0)
			}
		}
	}
}

// bare is a frame of any kind with any body.
func bare(t tag, body ...byte) []byte { return endFrame(append(beginFrame(nil, t), body...), 0) }

// claims is a frame that says how long it is, and is not.
func claims(t tag, size uint32) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, size), byte(t))
}

// asks is a host call.
func asks(op abi.Call, left int64, carried string, args ...uint32) []byte {
	c := call{op: op, left: left, named: true, carried: []byte(carried)}
	copy(c.args[:], args)
	return append(c.append(nil), carried...)
}

const (
	rules    = "its worker process broke the rules, and was killed: "
	overrun  = "used up its budget for one event"
	manifest = uint32(abi.ReportManifest)
	plenty   = int64(wasm.EventBudget)
)

var frauds = map[string]hostileWorker{
	"no frame":              {do: sends([]byte("hello, host, this is no frame")), says: rules + "it sent a frame of an unknown kind"},
	"a frame of the host's": {do: sends(bare(tagAnswer, make([]byte, 12)...)), says: rules + "it sent a frame of an unknown kind"},
	"too long a frame":      {do: sends(claims(tagReturn, 17)), says: "where 16 are the most"},
	"too long a call":       {do: sends(claims(tagCall, math.MaxUint32)), says: rules + "it sent a frame of kind"},
	"too long a word":       {do: sends(claims(tagStderr, maxStderr+1)), says: rules},
	"too short a frame":     {do: sends(bare(tagReturn, 0, 0)), says: "not as long as it should be"},
	"too short a call":      {do: sends(bare(tagCall, 1, 0, 0, 0)), says: "not as long as it should be"},

	"no such call":          {do: sends(asks(99, plenty, "")), says: "it passed on a host call that it must not, 99"},
	"a call of its own":     {do: sends(asks(abi.CallTake, plenty, "")), says: "it passed on a host call that it must not"},
	"less than it says":     {do: sends(asks(abi.CallReport, plenty, "abc", manifest, 0, 0, 16, 4)), says: "it passed 3 bytes with a report of 4"},
	"more than it says":     {do: sends(asks(abi.CallReport, plenty, "abcde", manifest, 0, 0, 16, 4)), says: "it passed 5 bytes with a report of 4"},
	"a load for no call":    {do: sends(asks(abi.CallClose, plenty, "abc", 1)), says: "it passed 3 bytes with a close of 0"},
	"more fuel than it had": {do: sends(asks(abi.CallClose, plenty+1, "", 1)), says: "units of fuel left"},
	"less fuel than none":   {do: sends(asks(abi.CallClose, -1, "", 1)), says: "units of fuel left"},
	"a window of nothing":   {do: sends(asks(abi.CallForward, plenty, "", 1, 0, 10, 0)), says: "bytes 0 to 10 of a payload of 0"},
	"a window around":       {do: sends(asks(abi.CallForward, plenty, "", 1, math.MaxUint32, math.MaxUint32, 0)), says: "of a payload of 0"},
	"before there is a host": {
		do: sends(asks(abi.CallDeliver, plenty, "", 0, 0, 0, abi.End)), says: "before OPEN",
	},
	"no manifest":     {do: sends(asks(abi.CallReport, plenty, "\xff\xff\xff\xff", manifest, 0, 0, 16, 4)), says: "plugin pigeon: describe: "},
	"no fuel for it":  {do: sends(asks(abi.CallReport, 3, "abcd", manifest, 0, 0, 16, 4)), says: overrun},
	"calls for ever":  {do: again(asks(abi.CallClose, plenty, "", 1)), says: overrun},
	"logs for ever":   {do: again(asks(abi.CallLog, plenty, "x", 1, 0, 1)), says: overrun},
	"talks for ever":  {do: again(bare(tagStderr, bytes.Repeat([]byte{'x'}, maxStderr)...)), says: overrun},
	"tells of a look": {do: sends((&observed{op: abi.CallScan}).append(nil)), says: "it reports a call that it was not asked to report"},
	"tells of more":   {do: sends((&observed{op: abi.CallWrite}).append(nil)), says: "it answered a host call that it must not"},
	"asks for time":   {do: sends(bare(tagAsk, 0, 0, 0, 0)), says: "it asks for the time, which it has"},

	"too much memory":      {do: sends((&eventEnd{pages: 257}).append(nil)), says: "257 pages of memory"},
	"more than its budget": {do: sends((&eventEnd{used: plenty + 1, pages: 2}).append(nil)), says: "units of fuel, of"},
	"less than nothing":    {do: sends((&eventEnd{used: -1, pages: 2}).append(nil)), says: "-1 units of fuel"},
	"no such trap":         {do: sends((&eventEnd{trap: &wasm.Trap{Kind: 77}}).append(nil)), says: "a kind of trap that there is not"},
	"a trap with colours": {
		do: sends((&eventEnd{trap: &wasm.Trap{Kind: wasm.TrapHost, Err: errors.New("\x1b[31mr\u202ee\u200bd\n\x00")}}).append(nil)), says: "describe: [31mr e d",
	},
	"refuses too late": {do: sends(bare(tagRefused, []byte("no")...)), says: "it refuses a plugin that it has run"},
	"refuses":          {do: sends(bare(tagRefused, []byte("\x1b]0;no\x07")...)), early: true, says: "plugin pigeon: start: start: ]0;no"},
	"returns at once":  {do: sends((&eventEnd{pages: 2}).append(nil)), says: "did not answer DESCRIBE"},

	"exits":  {do: func(io.Writer, *frames) { os.Exit(3) }, says: "its worker process ended with exit code 3"},
	"speaks": {do: func(io.Writer, *frames) { fmt.Fprintln(os.Stderr, "fatal: \x1b[1mno memory\nat all\nx"); os.Exit(2) }, says: "its worker process ended with exit code 2 (it said: fatal: "},
	"dies":   {do: func(io.Writer, *frames) { kill(os.Getpid()); select {} }, says: "its worker process was killed by signal 9"},
	"dies early": {
		do: func(io.Writer, *frames) { kill(os.Getpid()); select {} }, early: true, says: "start: its worker process was killed by signal 9",
	},
	"spins":               {do: spinForever, early: true},
	"half a frame":        {do: func(out io.Writer, _ *frames) { out.Write(claims(tagReturn, 16)); os.Exit(4) }, says: "ended with exit code 4"},
	"silent":              {do: func(io.Writer, *frames) {}, says: "its worker process did not come to an end within"},
	"silent at the start": {do: func(io.Writer, *frames) {}, early: true},
}

// spinForever is a worker that starts, and then computes although nothing is asked of it.
func spinForever(out io.Writer, _ *frames) {
	out.Write((&eventEnd{pages: 2}).append(nil))
	for n := 0; ; n++ {
		spun.Store(int64(n))
	}
}

var spun atomic.Int64

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Signal(syscall.SIGKILL)
	}
}

// TestFrauds tells every lie that a worker can tell. Each ends the one connection,
// says what it was and whose, and leaves no process.
func TestFrauds(t *testing.T) {
	for kind, f := range frauds {
		if f.says == "" {
			continue // see TestStartIsCancelled and TestAWorkerThatSpins
		}
		t.Run(kind, func(t *testing.T) {
			p := program(t, nil, kind)
			if kind == "silent" {
				p.EventTimeout = time.Nanosecond
			}
			_, err := start(p)
			if err == nil || !strings.Contains(err.Error(), f.says) || !strings.HasPrefix(err.Error(), "plugin pigeon: ") {
				t.Errorf("ended with %v, want %q", err, f.says)
			}
			if strings.ContainsAny(fmt.Sprint(err), "\x1b\n\x00") {
				t.Errorf("it steers the terminal: %q", err)
			}
			if left := children(t); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// A worker that may ask for randomness may not ask for ever, nor for too much.
func TestAskingHasItsPrice(t *testing.T) {
	berth := guest.Callbacks{Now: time.Now, Random: zeros{new([]string)}}
	flood := bytes.Repeat(bare(tagAsk, 0, 0, 0, 0), wasm.EventBudget/sourcePrice+1)
	for want, said := range map[string][]byte{
		overrun:                  flood,
		"it asks for 4294967295": bare(tagAsk, 255, 255, 255, 255),
	} {
		m, _ := listen(said, io.Discard, berth)
		if _, err := m.Run(wasm.EventBudget, guest.Event{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ended with %v, want %q", err, want)
		}
	}
}

// scriptedPipe is a process that says what was written down before.
type scriptedPipe struct {
	io.Reader
	io.Writer
	ended chan struct{}
	over  func()
	used  process.Usage
}

func (s *scriptedPipe) Usage() (process.Usage, bool) { return s.used, true }

func (s *scriptedPipe) Ended() <-chan struct{} { return s.ended }
func (s *scriptedPipe) Kill()                  { s.over() }
func (s *scriptedPipe) Reap() string           { return "ended" }
func (s *scriptedPipe) Close()                 {}

// listen returns the executor of a worker that says what it is given, and then ends.
func listen(said []byte, to io.Writer, b guest.Callbacks) (*executor, *scriptedPipe) {
	ctx, over := context.WithCancel(context.Background())
	s := &scriptedPipe{Writer: to, ended: make(chan struct{}), over: over}
	context.AfterFunc(ctx, func() { close(s.ended) })
	s.Reader = io.MultiReader(bytes.NewReader(said), endOf(over))
	if b.MemoryPages == 0 {
		b.MemoryPages = 1
	}
	if b.Stderr == nil {
		b.Stderr = io.Discard
	}
	b.Lost = func(error) {}
	return newExecutor(b, s, time.Hour), s
}

// endOf is the end of what a process says, which is its own.
type endOf func()

func (e endOf) Read([]byte) (int, error) { e(); return 0, io.EOF }
