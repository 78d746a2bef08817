package plugintest

import (
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// Bounds above which the kit calls the costs of a plugin too high. A plugin that stays below
// half of them has room for a slower machine and a longer message.
const (
	mostFuel   = wasm.EventBudget / 2 // for one event, beside what its payload brings
	mostCalls  = 64                   // host calls for one small message, one way
	mostMemory = 1 << 20              // bytes that a message of 1 MiB each way may add
	mostGrowth = 4 * pageSize         // that a thousand more calls of 1 KiB may add
	mostInUse  = 8 << 20              // that three thousand of them may add: half of what a guest may have
)

// mostPages is the most pages that a host gives a guest by default.
const mostPages = 256

// leastMeasured is the message size in bytes that a wire must carry for the kit to measure at all.
const leastMeasured = 200

// measurements are the checks of a guest's costs.
var measurements = []struct {
	check Check
	calls uint32                                   // of 200 bytes that are made before, as the first may cost more
	run   func(k *kit, g *harness, mark int) error // mark is the number of events so far
}{
	{Check{ID: "fuel", Level: Advice, Title: "No event takes more than half of its budget"}, 3, (*kit).fuel},
	{Check{ID: "fuel-size", Level: Advice, Title: "Long messages are paid for by their length"}, 3, (*kit).fuelBySize},
	{Check{ID: "host-calls", Level: Advice, Title: "A small message takes few host calls"}, 3, (*kit).hostCalls},
	{Check{ID: "memory-size", Level: Advice, Title: "Long messages stay with the host"}, 3, (*kit).memoryBySize},
	{Check{ID: "memory-growth", Level: Fault, Title: "The memory of a guest does not grow with use"}, 0, (*kit).memoryByUse},
}

// measure makes the measurements, each with an instance of its own.
func (k *kit) measure() {
	most, limit := k.options.Profile.carries()
	for _, m := range measurements {
		c, cannot := m.check, k.cannotPlay()
		if cannot == "" && most < leastMeasured {
			cannot = fmt.Sprintf("messages of more than %d bytes are needed, and %s", most, limit)
		}
		switch {
		case !k.wanted(c.ID):
		case cannot != "":
			k.report.add(&c, Skipped, cannot)
		default:
			setup := k.setup
			setup.wire = k.wires[0]
			g, err := newHarness(k.ctx, &setup)
			if err == nil {
				err = openUp(g, "")
			}
			for n := uint32(1); err == nil && n <= m.calls; n++ {
				err = g.echo(n, k.room(200), k.room(200))
			}
			if err == nil {
				err = m.run(k, g, len(g.record.costs))
			}
			g.stop()
			k.judge(&c, err, g.record)
		}
	}
}

// echo makes a call with a request and an answer of these sizes, in bytes.
func (g *harness) echo(n uint32, out, in int) error { return g.call(n, request(n, out), reply(n, in)) }

// call passes one request and its answer through the guest.
func (g *harness) call(n uint32, request, reply string) error {
	if err := g.send(n, request); err != nil {
		return err
	}
	if err := hears(g, fmt.Sprint(n)); err != nil {
		return err
	}
	if err := g.says(n, reply, false); err != nil {
		return err
	}
	return gets(g, reply)
}

// spent sums up the costs of the events since a mark: of the MESSAGE events if out is true,
// otherwise of all others, which bring bytes of the server.
func (r *recording) spent(from int, out bool) (sum cost) {
	for _, c := range r.costs[min(from, len(r.costs)):] {
		if (c.kind == abi.EventMessage.String()) == out {
			sum.fuel += c.fuel
			sum.calls += c.calls
		}
	}
	return sum
}

func (k *kit) fuel(g *harness, mark int) error {
	small := k.room(1 << 10)
	if err := g.echo(4, small, small); err != nil {
		return err
	}
	k.report.figure("fuel-out", "for a request of "+inWords(small), g.record.spent(mark, true).fuel, "units")
	k.report.figure("fuel-in", "for an answer of "+inWords(small), g.record.spent(mark, false).fuel, "units")
	if err := g.echo(5, small, k.room(1<<20)); err != nil {
		return err
	}
	var worst cost
	for _, c := range g.record.costs {
		if c.kind == abi.EventMessage.String() || c.kind == abi.EventData.String() || c.kind == abi.EventHead.String() {
			c.fuel -= int64(min(c.payload, 16<<10)) * wasm.FuelPerPayloadByte
		}
		if c.fuel > worst.fuel {
			worst = c
		}
	}
	if worst.fuel > mostFuel {
		return fmt.Errorf("a %s of %d bytes took %d units beside what its bytes bring; the budget is %d", worst.kind, worst.payload, worst.fuel, int64(wasm.EventBudget))
	}
	return nil
}

func (k *kit) fuelBySize(g *harness, mark int) error {
	large := k.room(260 << 10)
	small := min(max(large/65, 128), large/2) // 4 KiB, if there is room
	if err := g.echo(4, small, small); err != nil {
		return err
	}
	middle := len(g.record.costs)
	if err := g.echo(5, large, large); err != nil {
		return err
	}
	per := func(out bool) float64 {
		less := g.record.spent(mark, out).fuel - g.record.spent(middle, out).fuel
		return float64(g.record.spent(middle, out).fuel-less) / float64(large-small)
	}
	k.report.figure("fuel-kib-out", "for each KiB of a long request", int64(1024*per(true)), "units")
	k.report.figure("fuel-kib-in", "for each KiB of a long answer", int64(1024*per(false)), "units")
	if longest := longestOut(per(true)); longest < k.room(usualCap) {
		return fmt.Errorf("a long message takes %.1f units a byte on its way out, and a host gives 64: one of more than %d bytes will not pass", per(true), longest)
	}
	return nil
}

// usualCap is the longest message in bytes, unless a server entry says otherwise.
const usualCap = 16 << 20

// longestOut returns the longest message in bytes whose event stays within its budget at perByte
// units a byte. A host gives an event its budget, 512 for each of the first 16 KiB of its payload
// and 64 for each byte after them.
func longestOut(perByte float64) int {
	const gift = wasm.EventBudget + (wasm.FuelPerPayloadByte-64)*16<<10
	if perByte*usualCap <= gift+64*usualCap {
		return usualCap
	}
	return int(gift / (perByte - 64))
}

func (k *kit) hostCalls(g *harness, mark int) error {
	if err := g.echo(4, 200, 200); err != nil {
		return err
	}
	out, in := g.record.spent(mark, true).calls, g.record.spent(mark, false).calls
	k.report.figure("calls-out", "for a request of 200 bytes", int64(out), "host calls")
	k.report.figure("calls-in", "for an answer of 200 bytes", int64(in), "host calls")
	if max(out, in) > mostCalls {
		return fmt.Errorf("%d host calls on the way out, %d on the way in; %d are a lot", out, in, mostCalls)
	}
	return nil
}

func (k *kit) memoryBySize(g *harness, _ int) error {
	before := g.memory()
	size := k.room(1 << 20)
	if err := g.echo(4, size, size); err != nil {
		return err
	}
	grown := g.memory() - before
	k.report.figure("memory-large", "added by a message of "+inWords(size)+" each way", grown, "bytes")
	if grown > mostMemory {
		return fmt.Errorf("a message of %s each way added %d bytes of memory: deliver and forward leave its bytes with the host", inWords(size), grown)
	}
	return nil
}

// memoryByUse makes calls with as many bytes in all as three thousand calls of 1 KiB have. A
// runtime that collects garbage has collected some by then.
func (k *kit) memoryByUse(g *harness, _ int) error {
	size := k.room(1 << 10)
	rounds := uint32(1000 * (1 << 10) / size)
	first := g.memory()
	before := first
	for n := uint32(1); n <= 3*rounds; n++ {
		if err := g.echo(n, size, size); err != nil {
			return err
		}
		delete(g.exchanges, n)
		if n == 2*rounds {
			before = g.memory()
		}
	}
	after := g.memory()
	k.report.figure("memory-used", fmt.Sprintf("of an instance after %d calls", 3*rounds), after, "bytes")
	// A memory that has reached its limit does not grow any more.
	if after-first > mostInUse {
		return fmt.Errorf("%d calls added %d bytes of memory to %d; a guest may have %d", 3*rounds, after-first, first, mostPages*pageSize)
	}
	if after-before > mostGrowth {
		return fmt.Errorf("%d calls added %d bytes of memory, and more will add more", rounds, after-before)
	}
	return nil
}
