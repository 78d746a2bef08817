package wasm

import "time"

const (
	clockRealtime  = 0
	clockMonotonic = 1
)

// The clocks are real, unless the instance was given one: tokens expire by them.
var wasiClock = []hostFunc{
	call("clock_time_get", "iIi", func(in *Instance, args []uint64) errno {
		switch uint32(args[0]) {
		case clockRealtime:
			return put64(in, args[2], uint64(in.now().UnixNano()))
		case clockMonotonic:
			return put64(in, args[2], uint64(in.uptime()))
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

func (i *Instance) now() time.Time {
	if i.config.Now != nil {
		return i.config.Now()
	}
	return time.Now()
}

func (i *Instance) uptime() time.Duration {
	if i.config.Now != nil {
		return i.config.Now().Sub(i.born)
	}
	return time.Since(started)
}
