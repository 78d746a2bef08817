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

// compiling holds the limits of a worker until it runs the plugin, and running the limits after
// that. They allow the descriptors that it has, and a few that the runtime opens.
var (
	compiling = confine.Limits{Memory: 1 << 30, File: 64 << 20, Open: 48}
	running   = confine.Limits{}
)

// Serve is the main function of a worker. It compiles the plugin that the host sends, or runs it
// until in ends. Before that it gives up, for good, the rights of its process that it does not
// need. The process must end when Serve returns.
func Serve(in io.Reader, out io.Writer) error {
	if err := confine.Resources(compiling); err != nil {
		return err
	}
	return serve(in, out, restrict)
}

// restrict gives up the rights that running a plugin does not need, and seals the process if the
// system can. If sealing fails, the plugin must not run. On a system without seals the host has
// told the user, see Lacks.
func restrict() error {
	debug.FreeOSMemory() // compiling took more memory than running will
	if err := confine.Resources(running); err != nil {
		return err
	}
	err := confine.Syscalls()
	if err != nil && !errors.Is(err, confine.ErrNoFilter) {
		return fmt.Errorf("its process could not be sealed, so the plugin was not run: %w", err)
	}
	return nil
}

// serve is Serve with given limits. It calls restrict when the plugin is ready to run.
func serve(in io.Reader, out io.Writer, restrict func() error) error {
	w := &worker{out: bufio.NewWriterSize(out, 64<<10), restrict: restrict}
	w.in = frames{in: bufio.NewReaderSize(in, 64<<10), most: func(tag) (uint32, bool) { return math.MaxInt32, true }}
	err := w.run()
	if errors.Is(err, io.EOF) {
		return nil // the host has ended, or needs nothing more
	}
	return err
}

// worker runs a guest whose host is at the other end of a pipe. It belongs to one goroutine.
type worker struct {
	in       frames
	out      *bufio.Writer
	frame    []byte
	answers  []byte // the memory for frames that come while an event runs
	restrict func() error
	observed bool
	event    event
	mod      *wasm.Instance
	err      error // from the pipe
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

// compile does a job, and sends the answer. It returns an error if the pipe is broken.
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

// begin starts the guest, and reports whether that succeeded.
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

// load compiles the plugin, and then gives up the rights that only compiling needs. If the cache
// cannot be used, only time is lost.
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
	w.in.body, w.answers = w.answers, w.in.body // the old body holds the payload now
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

// await flushes the buffer, and returns the host's answer.
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

// surface returns the ABI of a host, with its prices. The host at the other end of the pipe answers
// the calls.
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

// answerLocally answers a call that reads the payload.
func (w *worker) answerLocally(in *wasm.Instance, op abi.Call, args [5]uint32) (result int32) {
	payload := guest.Payload(w.event.Payload)
	switch {
	case w.event.sealed():
		result = int32(abi.Denied) // for a scan, this result means that nothing was found
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

// forwardCall lets the host answer a call. It does not send bytes that the guest cannot pay for. If
// the call points past the guest's memory, the host decides.
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

// source asks the host for the time, or for random bytes.
func (w *worker) source(n uint32) ([]byte, error) {
	w.send(endFrame(le.AppendUint32(beginFrame(w.frame, tagAsk), n), 0), nil)
	return w.await(tagSource)
}

// now returns the host's time, or zero if the pipe is broken.
func (w *worker) now() time.Time {
	body, err := w.source(0)
	f := fields{rest: body}
	at := f.i64()
	if w.err = errors.Join(w.err, err, f.end(false)); w.err != nil {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// remoteRand reads the host's random bytes.
type remoteRand struct{ *worker }

func (c remoteRand) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	body, err := c.source(uint32(min(len(p), maxRandom)))
	return copy(p, body), err
}

// remoteStderr sends the guest's standard error to the host.
type remoteStderr struct{ *worker }

func (v remoteStderr) Write(p []byte) (int, error) {
	for piece := range slices.Chunk(p, maxStderr) {
		v.send(endFrame(beginFrame(v.frame, tagStderr), len(piece)), piece)
	}
	return len(p), nil
}
