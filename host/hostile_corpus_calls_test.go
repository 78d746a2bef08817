package host_test

import (
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// opening is what a guest does that wants the stream of its entry: the handle is in
// local 4.
var opening = code(hostCall(abi.CallOpen, int32(abi.OpenStream), 0, requestAt, int32(len(mainRequest()))), set(4))

// forgeries are pointers, lengths and windows that are not there.
func forgeries() (all []attack) {
	trap := func(name string, parts ...any) {
		all = append(all, attack{name: name, limit: "every pointer, window and block is checked", ends: trapped(wasm.TrapHost), guest: atOpen(parts...)})
	}
	for _, c := range abi.Calls() {
		if at := guest.PointerArg(c); at >= 0 {
			args := make([]int32, c.Params())
			args[at], args[at+1] = -16, 64
			trap(fmt.Sprintf("`%s` with a pointer at the end of the address space", c), ask(c, args...))
			if c != abi.CallTake { // which cuts the length to the payload
				args[at], args[at+1] = 0, -1
				trap(fmt.Sprintf("`%s` with a length of 4 GiB", c), ask(c, args...))
			}
		}
	}
	trap("`deliver` of bytes past its payload", ask(abi.CallDeliver, 0, 1, -1, 1))
	trap("`forward` of bytes past its payload", opening, get(4), num(-1), num(2), num(0), invoke(uint32(abi.CallForward)), opDrop)
	trap("`open` with a block that does not decode", ask(abi.CallOpen, int32(abi.OpenStream), 0, requestAt, int32(len(mainRequest())-1)))
	trap("`open` with a block that says it has 4 GiB", num(freeAt), num(-1), 0x36, 2, 0, ask(abi.CallOpen, int32(abi.OpenStream), 0, freeAt, 64))
	early := hostileGuest{on: on(abi.EventDescribe, ask(abi.CallOpen, int32(abi.OpenStream), 0, requestAt, int32(len(mainRequest()))))}
	forged := hostileGuest{on: on(abi.EventDescribe, ask(abi.CallReport, int32(abi.ReportManifest), 0, 0, manifestAt, int32(len(papers())-1)))}
	return append(all,
		attack{name: "`open` before OPEN", limit: "the state of the connection", ends: trapped(wasm.TrapHost), guest: early},
		attack{name: "a manifest that does not decode", limit: "every pointer, window and block is checked", ends: trapped(wasm.TrapHost), guest: forged},
	)
}

// guesses are handles that the guest was not given. It returns CLOSED if it was told
// that of all of them, and traps at the first that answers anything else.
func guesses() []attack {
	const tries = 1024
	// guess calls c for every handle up to tries but the one in local 4.
	guess := func(c abi.Call, before []byte, rest ...int32) hostileGuest {
		call := get(5)
		for _, a := range rest {
			call = append(call, num(a)...)
		}
		call = append(call, invoke(uint32(c))...)
		return tells(before, opLoop, voidBlock,
			get(5), get(4), 0x47, opIf, voidBlock, call, num(int32(abi.Closed)), 0x47, opIf, voidBlock, 0x00, opEnd, opEnd,
			get(5), num(1), opAdd, 0x22, 5, num(tries), opLess, opBrIf, 0, opEnd, num(int32(abi.Closed)))
	}
	stale := tells(opening, get(4), invoke(uint32(abi.CallClose)), opDrop, opening, get(4), num(1<<8), 0x6b, num(manifestAt), num(1), num(0), invoke(uint32(abi.CallWrite)))
	const held = "handles are looked up, with their generation"
	closed := num(-1)
	return []attack{
		{name: "`close` of 1,024 guessed handles", limit: held, ends: gaveUp(abi.Closed), guest: guess(abi.CallClose, code(closed, set(4)))},
		{name: "`write` to 1,024 guessed handles", limit: held, ends: gaveUp(abi.Closed), guest: guess(abi.CallWrite, opening, manifestAt, 1, 0)},
		{name: "`forward` to 1,024 guessed handles", limit: held, ends: gaveUp(abi.Closed), guest: guess(abi.CallForward, opening, 0, 1, 0)},
		{name: "`write` to a handle that was closed, after its place was taken again", limit: held, ends: gaveUp(abi.Closed), guest: stale},
	}
}

// tides are as many calls as fit into an event: of every host call, with arguments
// that it takes, and of what goes further than one call.
func tides() (all []attack) {
	args := map[abi.Call][]int32{
		abi.CallOpen:   {int32(abi.OpenStream), 0, requestAt, int32(len(mainRequest()))},
		abi.CallTimer:  {1, 60_000},
		abi.CallReport: {int32(abi.ReportDone), 7, 0, 0, 0},
		abi.CallSave:   {freeAt, 1 << 10},
		abi.CallLog:    {int32(abi.LevelError), freeAt, 1 << 10},
		abi.CallScan:   {0, 0},
	}
	for _, c := range abi.Calls() {
		with := args[c]
		if with == nil {
			with = make([]int32, c.Params())
		}
		all = append(all, spending(fmt.Sprintf("a flood of `%s`", c), atOpen(forever(ask(c, with...)))))
	}
	message := atOpen(forever(ask(abi.CallDeliverMem, 0, freeAt, 32<<10, 0)))
	written := atOpen(opening, forever(get(4), num(freeAt), num(32<<10), num(0), invoke(uint32(abi.CallWrite)), opDrop))
	exchanges := atOpen(forever(get(5), num(1), opAdd, 0x22, 5, num(0), num(1), num(0), invoke(uint32(abi.CallDeliver)), opDrop))
	timers := tells(opLoop, voidBlock, get(5), num(1), opAdd, 0x22, 5, num(60_000), invoke(uint32(abi.CallTimer)), 0x22, 6, num(0), opEq, opBrIf, 0, opEnd, get(6))
	opens := tells(opLoop, voidBlock, opening, get(4), num(0), 0x4a, opBrIf, 0, opEnd, get(4))
	stderr := hostileGuest{imports: []string{foreign("wasi_snapshot_preview1", "fd_write", externFunction, typeEvent)}}
	vector := code(num(freeAt), num(freeAt), 0x36, 2, 0, num(freeAt+4), num(64<<10), 0x36, 2, 0)
	stderr.on = on(abi.EventOpen, vector, forever(num(2), num(freeAt), num(1), num(0), invoke(hostCalls), opDrop))
	stderr.pages = 3
	return append(all,
		spending("a message without an end", message),
		spending("writing without an end", written),
		spending("64 KiB on its stderr, over and over", stderr),
		attack{name: "a message of each of 1,025 exchanges", limit: "1,024 messages under way", ends: trapped(wasm.TrapHost), guest: exchanges},
		attack{name: "33 timers", limit: "32 timers", ends: gaveUp(abi.LimitReached), guest: timers},
		attack{name: "17 streams at once", limit: "16 opens at once, then one in 250 ms", ends: gaveUp(abi.LimitReached), guest: opens},
	)
}

// breakouts reach for what is not the guest's.
func breakouts() []attack {
	own := "what the host adds to a module has no number in it"
	named := func(name string) hostileGuest {
		return hostileGuest{exports: [][]byte{export(name, externFunction, hostCalls)}}
	}
	ended := atOpen(ask(abi.CallReport, int32(abi.ReportUp), 0, 0, 0, 0), ask(abi.CallReport, int32(abi.ReportEnded), 0, 0, 0, 0))
	exit := hostileGuest{imports: []string{foreign("wasi_snapshot_preview1", "proc_exit", externFunction, int(firstType))}, types: [][2]string{{i32(1), ""}}}
	exit.on = on(abi.EventOpen, num(3), invoke(hostCalls))
	return []attack{
		{name: "setting its own fuel", limit: own, ends: turnedAway("global 0 is used, 0 are declared"), guest: atOpen(0x42, 0, 0x24, 0)},
		{name: "calling the function that refills its fuel", limit: own, ends: turnedAway("is used"), guest: atOpen(invoke(hostCalls + 3))},
		{name: "an export with a name of the meter", limit: own, ends: turnedAway("no name that begins with __wharf_"), guest: named("__wharf_fuel")},
		{name: "`unreachable`", limit: "the instruction itself", ends: trapped(wasm.TrapUnreachable), guest: atOpen(0x00)},
		{name: "a division by zero", limit: "the instruction itself", ends: trapped(wasm.TrapDivide), guest: atOpen(num(1), num(0), 0x6d, opDrop)},
		{name: "`proc_exit`", limit: "it ends the instance alone", ends: trapped(wasm.TrapExit), guest: exit},
		{name: "a result below zero", limit: "it ends the instance alone", ends: gaveUp(abi.Internal), guest: tells(num(int32(abi.Internal)))},
		{name: "no answer to DESCRIBE", limit: "a manifest is asked for", ends: broke("did not answer DESCRIBE"), guest: hostileGuest{on: on(abi.EventDescribe, 0x01)}},
		{name: "ENDED before CLOSE", limit: "the state of the connection", ends: broke("said ENDED before CLOSE"), guest: ended},
		{name: "FAILED of the whole connection", limit: "it ends the instance alone", ends: broke("connect"), guest: atOpen(ask(abi.CallReport, int32(abi.ReportFailed), 0, int32(abi.Internal), manifestAt, 4))},
	}
}
