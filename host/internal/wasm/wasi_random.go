package wasm

import "crypto/rand"

var wasiRandom = []hostFunc{
	call("random_get", "ii", func(in *Instance, args []uint64) errno {
		b, ok := in.Memory(uint32(args[0]), uint32(args[1]))
		if !ok {
			return eFault
		}
		in.Charge(4 * int64(len(b)))
		_, _ = rand.Read(b) // it does not fail: the process would have ended
		return success
	}),
}
