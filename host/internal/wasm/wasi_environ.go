package wasm

// The environment is what InstanceConfig says; there are no arguments.
var wasiEnviron = []hostFunc{
	call("args_get", "ii", func(*Instance, []uint64) errno { return success }),
	call("args_sizes_get", "ii", func(in *Instance, args []uint64) errno {
		return both(in, args[0], 0, args[1], 0)
	}),
	call("environ_get", "ii", environGet),
	call("environ_sizes_get", "ii", func(in *Instance, args []uint64) errno {
		return both(in, args[0], uint32(len(in.config.Env)), args[1], in.environSize())
	}),
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
