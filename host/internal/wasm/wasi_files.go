package wasm

import "encoding/binary"

const (
	stdin  = 0
	stdout = 1
	stderr = 2
)

// There are three descriptors: an input that has ended, and two outputs that
// are one. Nothing can be opened.
var wasiFiles = []hostFunc{
	call("fd_write", "iiii", fdWrite),
	call("fd_read", "iiii", func(in *Instance, args []uint64) errno {
		if uint32(args[0]) != stdin {
			return eBadf
		}
		return put32(in, args[3], 0)
	}),
	call("fd_close", "i", func(_ *Instance, args []uint64) errno { return standard(args[0]) }),
	call("fd_seek", "iIii", func(_ *Instance, args []uint64) errno {
		if standard(args[0]) != success {
			return eBadf
		}
		return eSpipe
	}),
	call("fd_fdstat_get", "ii", fdStat),
	call("fd_fdstat_set_flags", "ii", func(_ *Instance, args []uint64) errno { return standard(args[0]) }),
	call("fd_prestat_get", "ii", func(*Instance, []uint64) errno { return eBadf }),
	call("fd_prestat_dir_name", "iii", func(*Instance, []uint64) errno { return eBadf }),
}

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

// fdWrite writes all that it is given to the instance's Stderr. It ignores the error of
// that: a log that fails must not break a guest.
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

// fdStat says that a descriptor is a character device that can be read or
// written, and no more.
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
