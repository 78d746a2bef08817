package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/confine"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// compiling are the limits of a worker until it runs the plugin, and running those from then
// on. They allow the descriptors that it has already, and a few that the runtime opens.
var (
	compiling = confine.Limits{Memory: 1 << 30, File: 64 << 20, Open: 48}
	running   = confine.Limits{}
)

// Serve is the worker. It takes from its process what it does not need, for good. It
// compiles the plugin that the host sends it, or runs it until in ends. The process must
// end when Serve returns.
func Serve(in io.Reader, out io.Writer) error {
	if err := confine.Resources(compiling); err != nil {
		return err
	}
	return serve(in, out, restrict)
}

// restrict takes from the process what running a plugin does not need, and seals it if the
// system has seals: a seal that does not hold is then a reason not to run. On a system
// without seals the host has told the user, see Lacks.
func restrict() error {
	debug.FreeOSMemory() // compiling took more than running will
	if err := confine.Resources(running); err != nil {
		return err
	}
	err := confine.Syscalls()
	if err != nil && !errors.Is(err, confine.ErrNoFilter) {
		return fmt.Errorf("its process could not be sealed, so the plugin was not run: %w", err)
	}
	return nil
}

// serve is Serve in limits. restrict is called when all is ready to run the plugin.
func serve(in io.Reader, out io.Writer, restrict func() error) error {
	w := &worker{out: bufio.NewWriterSize(out, 64<<10), restrict: restrict}
	w.in = frames{in: bufio.NewReaderSize(in, 64<<10), most: func(tag) (uint32, bool) { return math.MaxInt32, true }}
	err := w.run()
	if errors.Is(err, io.EOF) {
		return nil // the host is gone, or has had enough
	}
	return err
}

// worker is a guest with the host at the other end of a pipe. It belongs to one
// goroutine.
type worker struct {
	in       frames
	out      *bufio.Writer
	frame    []byte
	answers  []byte // the memory for frames that come while an event runs
	restrict func() error
	observed bool
	event    event
	mod      *wasm.Instance
	err      error // of the pipe
}

func (w *worker) run() error {
	t, body, err := w.in.next()
	if err != nil {
		return err
	}
	if t == tagCompile {
		var j job
		if err := j.decode(body); err != nil {
			return err
		}
		return w.compile(&j)
	}
	if t != tagBegin {
		return fmt.Errorf("the first frame is of kind %d, and not %d", t, tagBegin)
	}
	var b begin
	if err := b.decode(body); err != nil {
		return err
	}
	more, err := w.begin(&b)
	if err != nil || !more {
		return err
	}
	defer w.mod.Close()
	for more && err == nil {
		more, err = w.serve()
	}
	return err
}

// compile does a job, and answers it. The error is of the pipe.
func (w *worker) compile(j *job) error {
	body, failed, err := j.run(w.restrict)
	t := tagCompiled
	switch {
	case err != nil:
		t, body = tagRefused, []byte(err.Error())
	case failed != nil:
		t, body = tagFailed, []byte(failed.Error())
	}
	return w.finish(append(beginFrame(w.frame, t), body[:min(len(body), int(answers[t]))]...))
}

// begin starts the guest, and reports whether there is one now.
func (w *worker) begin(b *begin) (started bool, err error) {
	w.observed = b.observed
	m, err := w.load(b)
	if err == nil {
		w.in.body = nil // the module
		c := wasm.InstanceConfig{Env: guest.Environ(), Stderr: remoteStderr{w}, MemoryPages: b.pages, Owner: w}
		if b.remoteSources {
			c.Now, c.Random = w.now, remoteRand{w}
		}
		w.mod, err = m.Instantiate(context.Background(), c)
	}
	trap := (*wasm.Trap)(nil)
	switch {
	case w.err != nil:
		return false, w.err
	case err == nil:
		return true, w.end(&eventEnd{used: w.mod.Used(), pages: w.mod.Pages()})
	case errors.As(err, &trap):
		return false, w.end(&eventEnd{trap: trap})
	}
	return false, w.finish(append(beginFrame(w.frame, tagRefused), clip(err.Error())...))
}

// load compiles the plugin, and then gives up what only that needs. A cache that
// cannot be used costs time and nothing else.
func (w *worker) load(b *begin) (*wasm.Module, error) {
	ctx := context.Background()
	c := wasm.Config{CacheDir: b.cache, ABI: w.surface()}
	e, err := wasm.NewEngine(ctx, c)
	if err != nil && c.CacheDir != "" {
		c.CacheDir = ""
		e, err = wasm.NewEngine(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	m, err := e.LoadCompiled(ctx, "plugin", b.module)
	b.module = nil
	return m, errors.Join(err, w.restrict())
}

// serve runs one event, and reports whether there may be another.
func (w *worker) serve() (more bool, err error) {
	t, body, err := w.in.next()
	if err != nil {
		return false, err
	}
	if t != tagEvent {
		return false, fmt.Errorf("a frame of kind %d, and not %d", t, tagEvent)
	}
	e := &w.event
	if err := e.decode(body); err != nil {
		return false, err
	}
	w.in.body, w.answers = w.answers, w.in.body // which has the payload now
	result, err := w.mod.Export(abi.ExportEvent).Call(e.budget, uint32(e.Kind), e.Handle, e.Arg, e.Size)
	w.in.body, w.answers = w.answers, w.in.body
	end := &eventEnd{result: int32(result), used: w.mod.Used(), pages: w.mod.Pages()}
	if w.err != nil {
		return false, w.err
	}
	if err != nil && !errors.As(err, &end.trap) {
		return false, err
	}
	return end.trap == nil, w.end(end)
}

func (w *worker) end(end *eventEnd) error { return w.finish(end.append(w.frame)) }

// finish sends a frame without further parts, and what is still buffered.
func (w *worker) finish(frame []byte) error {
	w.send(endFrame(frame, 0), nil)
	return w.out.Flush()
}

// send buffers a frame; more is its last part. If the pipe is broken, the next flush says so.
func (w *worker) send(frame, more []byte) {
	w.frame = frame
	w.out.Write(frame)
	w.out.Write(more)
}

// await sends what is left, and returns the host's answer.
func (w *worker) await(want tag) ([]byte, error) {
	if err := w.out.Flush(); err != nil {
		return nil, err
	}
	t, body, err := w.in.next()
	if err == nil && t != want {
		err = fmt.Errorf("a frame of kind %d, and not %d", t, want)
	}
	return body, err
}

// surface is the ABI of a host, with its prices; the host at the other end of the pipe
// answers the calls.
func (w *worker) surface() wasm.ABI {
	s := guest.ABI()
	for n, op := range abi.Calls() {
		s.Imports[n].Func = w.answer(op)
	}
	return s
}

func (w *worker) answer(op abi.Call) func(*wasm.Instance, []uint64) {
	return func(in *wasm.Instance, stack []uint64) {
		var args [5]uint32
		for n := range op.Params() {
			args[n] = uint32(stack[n])
		}
		var result int32
		if isLocal(op) {
			result = w.answerLocally(in, op, args)
		} else {
			result = w.forwardCall(in, op, args)
		}
		if op.HasResult() {
			stack[0] = uint64(uint32(result))
		}
	}
}

// answerLocally answers a call that is about the payload.
func (w *worker) answerLocally(in *wasm.Instance, op abi.Call, args [5]uint32) (result int32) {
	payload := guest.Payload(w.event.Payload)
	switch {
	case w.event.sealed():
		result = int32(abi.Denied) // for a scan this says that nothing was found
	case op == abi.CallTake:
		result = payload.Take(in, args[0], args[1], args[2])
	default:
		result = payload.Scan(in, args[0], args[1])
	}
	if w.observed {
		note := observed{op, args, result}
		w.send(note.append(w.frame), nil)
	}
	return result
}

// forwardCall lets the host answer a call. Bytes that the guest cannot pay for are not sent.
// If it points past its memory, the host decides.
func (w *worker) forwardCall(in *wasm.Instance, op abi.Call, args [5]uint32) int32 {
	c := call{op: op, args: args, left: in.Left()}
	if at := guest.PointerArg(op); at >= 0 {
		c.carried, c.named = in.Memory(args[at], args[at+1])
	}
	if int64(len(c.carried)) > c.left {
		in.Charge(int64(len(c.carried)))
	}
	w.send(c.append(w.frame), c.carried)
	if !op.HasResult() && c.named {
		in.Charge(int64(len(c.carried))) // as guest.Bytes does in the host
		return 0
	}
	body, err := w.await(tagAnswer)
	var a answer
	if err == nil {
		err = a.decode(body)
	}
	if err != nil { // the pipe is broken
		w.err = err
		in.Trap(err)
	}
	in.Charge(a.charge)
	return a.result
}

// source asks the host for the time, or for some randomness.
func (w *worker) source(n uint32) ([]byte, error) {
	w.send(endFrame(le.AppendUint32(beginFrame(w.frame, tagAsk), n), 0), nil)
	return w.await(tagSource)
}

// now is the host's clock. It is zero if the pipe is broken.
func (w *worker) now() time.Time {
	body, err := w.source(0)
	f := fields{rest: body}
	at := f.i64()
	if w.err = errors.Join(w.err, err, f.end(false)); w.err != nil {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// remoteRand is the host's randomness.
type remoteRand struct{ *worker }

func (c remoteRand) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	body, err := c.source(uint32(min(len(p), maxRandom)))
	return copy(p, body), err
}

// remoteStderr is the guest's standard error.
type remoteStderr struct{ *worker }

func (v remoteStderr) Write(p []byte) (int, error) {
	for piece := range slices.Chunk(p, maxStderr) {
		v.send(endFrame(beginFrame(v.frame, tagStderr), len(piece)), piece)
	}
	return len(p), nil
}
