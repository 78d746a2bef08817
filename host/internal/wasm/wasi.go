package wasm

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"io"
	"strings"
	"time"
)

// wasi holds the functions of wasi_snapshot_preview1 that a module may import: those that
// language runtimes need to start, print and exit. There are no files, no sockets and no
// arguments; every other import is refused before the module is compiled.
//
// Every function returns an errno. A pointer outside of memory is EFAULT, as in other
// implementations, and does not end the instance.
var wasi = []hostFunc{
	call("args_get", "ii", always(success)),
	call("args_sizes_get", "ii", func(in *Instance, args []uint64) errno { return both(in, args[0], 0, args[1], 0) }),
	call("environ_get", "ii", environGet),
	call("environ_sizes_get", "ii", func(in *Instance, args []uint64) errno {
		return both(in, args[0], uint32(len(in.config.Env)), args[1], in.environSize())
	}),

	// The clocks are the real ones, because tokens expire by them, unless the instance was given
	// another clock.
	call("clock_time_get", "iIi", clockTimeGet),
	call("clock_res_get", "ii", func(in *Instance, args []uint64) errno {
		if uint32(args[0]) > clockMonotonic {
			return eInval
		}
		return put64(in, args[1], uint64(time.Microsecond))
	}),
	call("random_get", "ii", randomGet),

	// There are three descriptors: an input that has ended, and two outputs with the same
	// destination. Nothing can be opened.
	call("fd_write", "iiii", fdWrite),
	call("fd_read", "iiii", func(in *Instance, args []uint64) errno {
		if uint32(args[0]) != stdin {
			return eBadf
		}
		return put32(in, args[3], 0)
	}),
	call("fd_close", "i", func(_ *Instance, args []uint64) errno { return standard(args[0]) }),
	call("fd_seek", "iIii", func(_ *Instance, args []uint64) errno { return cmp.Or(standard(args[0]), eSpipe) }),
	call("fd_fdstat_get", "ii", fdStat),
	call("fd_fdstat_set_flags", "ii", func(_ *Instance, args []uint64) errno { return standard(args[0]) }),
	call("fd_prestat_get", "ii", always(eBadf)),
	call("fd_prestat_dir_name", "iii", always(eBadf)),

	call("poll_oneoff", "iiii", pollOneoff),
	call("sched_yield", "", always(success)),
	{
		module: wasiModule, name: "proc_exit", signature: signature{params: letters("i")}, price: wasiCall,
		run: func(in *Instance, stack []uint64) { in.stop(&Trap{Kind: TrapExit, Code: uint32(stack[0])}) },
	},
}

const wasiModule = "wasi_snapshot_preview1"

// errno is a WASI error number.
type errno uint64

const (
	success errno = 0
	eBadf   errno = 8
	eFault  errno = 21
	eInval  errno = 28
	eSpipe  errno = 70
)

// wasiCall is the price of any of these functions: a host call and some work.
const wasiCall = 200

// call describes a WASI function. params has one letter for each parameter: i for i32, I for i64.
// Every function returns an errno.
func call(name, params string, run func(in *Instance, args []uint64) errno) hostFunc {
	return hostFunc{
		module:    wasiModule,
		name:      name,
		signature: signature{letters(params), letters("i")},
		price:     wasiCall,
		run: func(in *Instance, stack []uint64) {
			stack[0] = uint64(run(in, stack))
		},
	}
}

// always returns a function that returns e, whatever its arguments are.
func always(e errno) func(*Instance, []uint64) errno {
	return func(*Instance, []uint64) errno { return e }
}

// letters returns the types that the letters i and I stand for.
func letters(s string) string {
	return strings.Map(func(letter rune) rune {
		if letter == 'i' {
			return typeI32
		}
		return typeI64
	}, s)
}

// put32 writes v at ptr.
func put32(in *Instance, ptr uint64, v uint32) errno {
	b, ok := in.Memory(uint32(ptr), 4)
	if !ok {
		return eFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return success
}

// put64 writes v at ptr.
func put64(in *Instance, ptr, v uint64) errno {
	b, ok := in.Memory(uint32(ptr), 8)
	if !ok {
		return eFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return success
}

// both writes two numbers, at two places.
func both(in *Instance, ptr1 uint64, v1 uint32, ptr2 uint64, v2 uint32) errno {
	if e := put32(in, ptr1, v1); e != success {
		return e
	}
	return put32(in, ptr2, v2)
}

const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// started is the zero of the monotonic clock. It is a second before the start of the process,
// because a runtime may take a reading of zero for a clock that does not work.
var started = time.Now().Add(-time.Second)

func clockTimeGet(in *Instance, args []uint64) errno {
	now, zero := time.Now, started
	if in.config.Now != nil {
		now, zero = in.config.Now, in.born
	}
	switch uint32(args[0]) {
	case clockRealtime:
		return put64(in, args[2], uint64(now().UnixNano()))
	case clockMonotonic:
		return put64(in, args[2], uint64(now().Sub(zero)))
	default:
		return eInval
	}
}

func randomGet(in *Instance, args []uint64) errno {
	b, ok := in.Memory(uint32(args[0]), uint32(args[1]))
	if !ok {
		return eFault
	}
	in.Charge(4 * int64(len(b)))
	from := in.config.Random
	if from == nil {
		from = rand.Reader // never fails: the process would have ended
	}
	if _, err := io.ReadFull(from, b); err != nil {
		in.Trap(err)
	}
	return success
}

func (i *Instance) environSize() (n uint32) {
	for _, e := range i.config.Env {
		n += uint32(len(e)) + 1
	}
	return n
}

// environGet writes pointers at args[0] and, from args[1] on, the strings they
// point to, each ended by a zero byte.
func environGet(in *Instance, args []uint64) errno {
	in.Charge(int64(in.environSize()))
	pointers, at := args[0], uint32(args[1])
	for n, e := range in.config.Env {
		if failed := put32(in, uint64(uint32(pointers)+uint32(4*n)), at); failed != success {
			return failed
		}
		b, ok := in.Memory(at, uint32(len(e))+1)
		if !ok {
			return eFault
		}
		b[copy(b, e)] = 0
		at += uint32(len(b))
	}
	return success
}

const (
	stdin  = 0
	stdout = 1
	stderr = 2
)

func standard(fd uint64) errno {
	if uint32(fd) > stderr {
		return eBadf
	}
	return success
}

const (
	vectorSize = 8 // pointer and length
	maxVectors = 1024
)

// fdWrite writes all bytes that it gets to the instance's Stderr. It ignores the error of that,
// because a log that fails must not break a guest.
func fdWrite(in *Instance, args []uint64) errno {
	if fd := uint32(args[0]); fd != stdout && fd != stderr {
		return eBadf
	}
	count := uint32(args[2])
	if count > maxVectors {
		return eInval
	}
	vectors, ok := in.Memory(uint32(args[1]), count*vectorSize)
	if !ok {
		return eFault
	}
	written := uint32(0)
	for ; len(vectors) > 0; vectors = vectors[vectorSize:] {
		b, ok := in.Memory(binary.LittleEndian.Uint32(vectors), binary.LittleEndian.Uint32(vectors[4:]))
		if !ok {
			return eFault
		}
		in.Charge(2 * int64(len(b)))
		if in.config.Stderr != nil {
			_, _ = in.config.Stderr.Write(b)
		}
		written += uint32(len(b))
	}
	return put32(in, args[3], written)
}

// fdStat reports a descriptor as a character device, with the right to read or to write it and no
// other.
func fdStat(in *Instance, args []uint64) errno {
	const characterDevice, readRight, writeRight = 2, 1 << 1, 1 << 6
	if standard(args[0]) != success {
		return eBadf
	}
	b, ok := in.Memory(uint32(args[1]), 24)
	if !ok {
		return eFault
	}
	clear(b)
	b[0] = characterDevice
	right := byte(writeRight)
	if uint32(args[0]) == stdin {
		right = readRight
	}
	b[8] = right
	return success
}

const (
	subscriptionSize = 48
	eventSize        = 32
	maxSubscriptions = 64
	clockEvent       = 0

	longestNap = time.Millisecond
	napPrice   = 1_000_000
)

// pollOneoff answers every subscription at once, because a guest that waits holds up the host, and
// timers are events of the host. It sleeps for at most a millisecond, at a high price. So a runtime
// that waits for the clock does not spin, and ends with its budget.
func pollOneoff(in *Instance, args []uint64) errno {
	count := uint32(args[2])
	if count == 0 || count > maxSubscriptions {
		return eInval
	}
	in.Charge(int64(count) * wasiCall)
	subscriptions, ok := in.Memory(uint32(args[0]), count*subscriptionSize)
	if !ok {
		return eFault
	}
	events, ok := in.Memory(uint32(args[1]), count*eventSize)
	if !ok {
		return eFault
	}
	nap := time.Duration(0)
	for n := range int(count) {
		s, e := subscriptions[n*subscriptionSize:][:subscriptionSize], events[n*eventSize:][:eventSize]
		nap = max(nap, answer(s, e))
	}
	if nap > 0 {
		in.Charge(napPrice)
		time.Sleep(nap)
	}
	return put32(in, args[3], count)
}

// answer writes the event for one subscription and returns how long to sleep for it.
func answer(s, e []byte) time.Duration {
	kind := s[8]
	var saved [8]byte
	copy(saved[:], s)
	timeout := binary.LittleEndian.Uint64(s[24:])
	absolute := s[40]&1 != 0
	clear(e)
	copy(e, saved[:])
	e[10] = kind
	if kind != clockEvent {
		binary.LittleEndian.PutUint16(e[8:], uint16(eBadf))
		return 0
	}
	if absolute || timeout > uint64(longestNap) {
		return longestNap
	}
	return time.Duration(timeout)
}
