package abi

import (
	"slices"
	"strconv"
)

// The lines of a call trace. The host prints them for WHARF_TRACE=abi, tests
// compare them, and the golden traces in testdata/traces are written in them:
//
//	--> event(DATA, 1, 0, 212)
//	  <-- scan(0, "\n") = 211
//	  <-- deliver(0, 0, 211, END) = ANSWER
//	--> = 0
//
// Pointers are left out, because they depend only on the guest's own memory layout.

// AppendEvent appends the line of an event as it enters a guest.
func AppendEvent(dst []byte, k Kind, handle, arg, size uint32) []byte {
	dst = append(dst, "--> event("...)
	dst = append(dst, k.String()...)
	dst = appendArg(dst, handle)
	dst = append(dst, ", "...)
	dst = appendEventArg(dst, k, arg)
	dst = appendArg(dst, size)
	return append(dst, ')')
}

// AppendReturn appends the line with the result of an event.
func AppendReturn(dst []byte, result int32) []byte {
	return strconv.AppendInt(append(dst, "--> = "...), int64(result), 10)
}

// AppendTrap appends the line of an event that did not return.
func AppendTrap(dst []byte, reason string) []byte {
	return append(append(dst, "--> trap: "...), reason...)
}

// AppendCall appends the line of a host call with its arguments as a guest passed them. For open
// there is [AppendOpen].
func AppendCall(dst []byte, c Call, args []uint32, result int32) []byte {
	dst = append(append(dst, "  <-- "...), c.String()...)
	dst = append(dst, '(')
	dst = appendCallArgs(dst, c, args)
	dst = append(dst, ')')
	if !c.HasResult() {
		return dst
	}
	dst = append(dst, " = "...)
	return appendResult(dst, c, result)
}

// AppendOpen appends the line of open, with the request itself in place of its pointer and
// length.
func AppendOpen(dst []byte, k OpenKind, exchange uint32, r *OpenRequest, result int32) []byte {
	dst = append(append(dst, "  <-- open("...), k.String()...)
	dst = appendArg(dst, exchange)
	dst = strconv.AppendQuote(append(dst, ", "...), r.Grant)
	dst = appendFlags(dst, r.Flags, "ESSENTIAL", "UPGRADE")
	if r.Method != "" {
		dst = append(append(dst, ", "...), r.Method...)
		dst = strconv.AppendQuote(append(dst, ' '), r.Target)
	}
	for _, h := range r.Headers {
		dst = strconv.AppendQuote(append(dst, ", "...), h.Key+": "+h.Value)
	}
	dst = append(dst, ") = "...)
	return appendResult(dst, CallOpen, result)
}

func appendEventArg(dst []byte, k Kind, arg uint32) []byte {
	switch k {
	case EventError:
		return append(dst, Status(int32(arg)).String()...)
	case EventExit:
		return strconv.AppendInt(dst, int64(int32(arg)), 10)
	case EventData:
		if arg == Last {
			return append(dst, "LAST"...)
		}
	case EventOpened:
		if arg == Sealed {
			return append(dst, "SEALED"...)
		}
	case EventHead:
		dst = strconv.AppendUint(dst, uint64(arg&0xffff), 10)
		if arg&HeadLast != 0 {
			dst = append(dst, "+LAST"...)
		}
		return dst
	}
	return strconv.AppendUint(dst, uint64(arg), 10)
}

// appendCallArgs appends the arguments of c, without its pointers.
func appendCallArgs(dst []byte, c Call, a []uint32) []byte {
	switch c {
	case CallTake: // off, ptr, len
		return appendArg(appendFirst(dst, a[0]), a[2])
	case CallScan: // off, needles
		dst = append(appendFirst(dst, a[0]), ", "...)
		return strconv.AppendQuote(dst, string(Needles(a[1])))
	case CallDeliver, CallForward: // exchange or handle, off, len, flags
		dst = appendArg(appendArg(appendFirst(dst, a[0]), a[1]), a[2])
		return appendFlags(dst, a[3], "END", "ABORT")
	case CallDeliverMem, CallWrite: // exchange or handle, ptr, len, flags
		dst = appendArg(appendFirst(dst, a[0]), a[2])
		return appendFlags(dst, a[3], "END", "ABORT")
	case CallReport: // what, exchange, code, ptr, len
		dst = append(dst, What(a[0]).String()...)
		dst = append(appendArg(dst, a[1]), ", "...)
		dst = append(dst, Status(int32(a[2])).String()...)
		return appendArg(dst, a[4])
	case CallSave: // ptr, len
		return appendFirst(dst, a[1])
	case CallLog: // level, ptr, len
		return appendArg(append(dst, Level(a[0]).String()...), a[2])
	}
	for i, v := range a {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendFirst(dst, v)
	}
	return dst
}

func appendResult(dst []byte, c Call, r int32) []byte {
	switch {
	case c == CallDeliver || c == CallDeliverMem:
		return append(dst, Verdict(r).String()...)
	case c == CallScan || r > 0:
		return strconv.AppendInt(dst, int64(r), 10)
	case c == CallTake && r == 0:
		return append(dst, '0')
	}
	return append(dst, Status(r).String()...)
}

func appendFirst(dst []byte, v uint32) []byte { return strconv.AppendUint(dst, uint64(v), 10) }

func appendArg(dst []byte, v uint32) []byte { return appendFirst(append(dst, ", "...), v) }

// appendFlags appends the names of the bits that are set, the lowest first. It appends nothing
// if no bit is set.
func appendFlags(dst []byte, flags uint32, names ...string) []byte {
	for i, name := range names {
		if flags&(1<<i) != 0 {
			dst = append(append(dst, ", "...), name...)
		}
	}
	return dst
}

// PackNeedles packs the first four bytes of needles into the second argument of scan. If there
// are fewer, it repeats the last one, which does not change the search. No needles at all means
// the NUL byte.
func PackNeedles(needles string) uint32 {
	var n uint32
	if needles == "" {
		return n
	}
	for i := range 4 {
		n |= uint32(needles[min(i, len(needles)-1)]) << (8 * i)
	}
	return n
}

// Needles returns the distinct bytes that scan looks for, in the order given.
func Needles(packed uint32) []byte {
	var out []byte
	for i := range 4 {
		c := byte(packed >> (8 * i))
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
