package wasm

import "time"

const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// The clocks are real: tokens expire by them.
var wasiClock = []hostFunc{
	call("clock_time_get", "iIi", func(in *Instance, args []uint64) errno {
		switch uint32(args[0]) {
		case clockRealtime:
			return put64(in, args[2], uint64(time.Now().UnixNano()))
		case clockMonotonic:
			return put64(in, args[2], uint64(time.Since(started)))
		default:
			return eInval
		}
	}),
	call("clock_res_get", "ii", func(in *Instance, args []uint64) errno {
		if uint32(args[0]) > clockMonotonic {
			return eInval
		}
		return put64(in, args[1], uint64(time.Microsecond))
	}),
}

// started is the zero of the monotonic clock. A second earlier than the
// process, because a runtime may take a zero for a clock that does not work.
var started = time.Now().Add(-time.Second)
