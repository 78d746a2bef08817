package abi

// Version is the major version of the transport ABI. It is part of [Module] and of
// [ExportMarker]. By it a host tells a guest of another major version from a module that is no
// plugin at all.
const Version = 1

// Module is the name of the module from which a guest imports every host call.
const Module = "wharf1"

// Names of the exports that a host looks for in a guest.
const (
	// ExportMarker names the ABI version that a guest was built for. It is a
	// function without parameters and results, and it is never called.
	ExportMarker = "wharf_abi_1"

	// ExportMarkerPrefix begins the markers of all versions.
	ExportMarkerPrefix = "wharf_abi_"

	// ExportEvent is the one function that a host calls:
	// (kind, handle, arg, len i32) -> i32.
	ExportEvent = "wharf_event"

	// ExportInitialize is called once before the first event, where it exists.
	ExportInitialize = "_initialize"

	// ExportMemory is the linear memory that pointers of host calls mean.
	ExportMemory = "memory"
)

// Call is a host call, a function that a guest may import from [Module].
type Call uint8

// The host calls. doc.go gives the contract of each.
const (
	CallTake Call = iota
	CallScan
	CallDeliver
	CallDeliverMem
	CallForward
	CallWrite
	CallOpen
	CallClose
	CallTimer
	CallReport
	CallSave
	CallLog
	callCount
)

// Calls lists every host call, in the order of their numbers.
func Calls() []Call {
	calls := make([]Call, callCount)
	for i := range calls {
		calls[i] = Call(i)
	}
	return calls
}

// signature is the shape of a host call: its name, how many i32 parameters it
// takes and whether it has an i32 result.
type signature struct {
	name   string
	params int
	result bool
}

var signatures = [callCount]signature{
	CallTake:       {"take", 3, true},
	CallScan:       {"scan", 2, true},
	CallDeliver:    {"deliver", 4, true},
	CallDeliverMem: {"deliver_mem", 4, true},
	CallForward:    {"forward", 4, true},
	CallWrite:      {"write", 4, true},
	CallOpen:       {"open", 4, true},
	CallClose:      {"close", 1, true},
	CallTimer:      {"timer", 2, true},
	CallReport:     {"report", 5, true},
	CallSave:       {"save", 2, true},
	CallLog:        {"log", 3, false},
}

// String returns the name under which a guest imports c.
func (c Call) String() string {
	if c < callCount {
		return signatures[c].name
	}
	return "call(" + itoa(int64(c)) + ")"
}

// Params returns the number of i32 parameters of c.
func (c Call) Params() int { return signatures[c].params }

// HasResult reports whether c returns an i32.
func (c Call) HasResult() bool { return signatures[c].result }
