package host_test

import (
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// feeding are the attacks of guests that have no server to speak of, and live on
// what the host does for them: events of their own making, and what is kept for
// them outside of their memory.
func feeding() []attack {
	busy := broke("keeps using more computing time")
	up := ask(abi.CallReport, int32(abi.ReportUp), 0, 0, 0, 0)
	// work is nearly what an event brings with it, where it does. Each brings two more
	// about, so there is always one that waits.
	work := code(num(20_000), set(4), opLoop, voidBlock, get(4), num(-1), opAdd, 0x22, 4, opBrIf, 0, opEnd)
	reading := func(text []byte, on map[abi.Kind][]byte) hostileGuest {
		p := hostileGuest{on: on}
		p.raw = map[byte][]byte{sectionData: list(append(data(), code(0, num(freeAt), opEnd, named(string(text))))...)}
		return p
	}
	ping := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	pinging := code(work, many(2, ask(abi.CallDeliverMem, 0, freeAt, int32(len(ping)), int32(abi.End))))
	request := abi.AppendOpenRequest(nil, &abi.OpenRequest{Grant: "main", Method: "GET"})
	asking := code(work, many(2, hostCall(abi.CallOpen, int32(abi.OpenHTTP), 0, freeAt, int32(len(request))), num(freeAt), num(1), num(int32(abi.End)), invoke(uint32(abi.CallWrite)), opDrop))

	var p hostileGuest
	referring := atOpen(forever(many(100, 0xd2, int(p.hand(0)), opDrop)))
	referring.crew = []wasmFunc{{typ: typeNothing}}
	referring.tables, referring.entries = [][]byte{table(1, 1)}, []uint32{p.hand(0)}

	return []attack{
		spending("`ref.func`, over and over", referring),
		{name: "a ping that it makes up, again at each reply", limit: rateBudget, ends: busy, era: "2025-11-25", guest: reading(ping, map[abi.Kind][]byte{
			abi.EventOpen: code(up, pinging), abi.EventMessage: pinging,
		})},
		{name: "a GET with a body, again at each refusal", limit: rateBudget, ends: busy, url: "http://127.0.0.1:9/mcp", guest: reading(request, map[abi.Kind][]byte{
			abi.EventOpen: code(up, asking), abi.EventError: code(get(1), invoke(uint32(abi.CallClose)), opDrop, asking),
		})},
	}
}

// heapPeak watches the heap from now on. What it returns stops it, and says how much
// larger the heap has been than it was: what is kept, and what waits to be collected.
func heapPeak() (stop func() uint64) {
	in := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 { metrics.Read(in); return in[0].Value.Uint64() }
	runtime.GC()
	before, over, peak := read(), make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		most := before
		for {
			most = max(most, read())
			select {
			case <-over:
				peak <- most - before
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { close(over); return <-peak }
}
