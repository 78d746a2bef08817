package wasm

import (
	"crypto/rand"
	"io"
)

var wasiRandom = []hostFunc{
	call("random_get", "ii", func(in *Instance, args []uint64) errno {
		b, ok := in.Memory(uint32(args[0]), uint32(args[1]))
		if !ok {
			return eFault
		}
		in.Charge(4 * int64(len(b)))
		from := in.config.Random
		if from == nil {
			from = rand.Reader // which does not fail: the process would have ended
		}
		if _, err := io.ReadFull(from, b); err != nil {
			in.Trap(err)
		}
		return success
	}),
}
