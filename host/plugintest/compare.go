package plugintest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// compared are the scenarios whose traces are compared. They are short, since an interpreter is
// slow, and have most of the kinds of events.
var compared = []string{"response", "out-of-order", "cancel-sent", "joined", "strange-events", "server-crashes", "close-pending"}

// comparisons are ways to run a guest between which its trace must not differ: the engine, and
// the number of instances at once.
var comparisons = []struct {
	check  Check
	engine wasm.Config
	runs   int
}{
	{Check{ID: "same-twice", Title: "The same events twice give the same trace"}, wasm.Config{}, 1},
	{Check{ID: "same-together", Title: "Two instances at once give the trace that one gives"}, wasm.Config{}, 2},
	{Check{ID: "same-interpreted", Title: "The interpreter gives the trace that native code gives"}, wasm.Config{Interpreted: true}, 1},
	{Check{ID: "same-unmetered", Title: "A module without a meter gives the trace that it gives with one"}, wasm.Config{Unmetered: true}, 1},
}

// compare runs the scenarios that passed again, in other ways. A scenario is run without a
// budget only if it has passed within one.
func (k *kit) compare() {
	list := k.passed()
	for _, way := range comparisons {
		c := way.check
		c.Level = Fault
		switch {
		case !k.wanted(c.ID):
		case len(list) == 0 || k.stops > 0:
			k.report.add(&c, Skipped, "no scenario that is compared has passed, or the guest has used up its budget")
		default:
			var record *recording
			module, err := k.setup.module, error(nil)
			if way.engine.Interpreted || way.engine.Unmetered {
				module, err = k.module(way.engine)
			}
			for i := 0; err == nil && i < len(list); i++ {
				if record, err = k.differs(list[i], module, way.runs); err != nil {
					err = fmt.Errorf("scenario %s, %w", list[i].ID, err)
				}
			}
			k.judge(&c, err, record)
		}
	}
}

// passed returns the compared scenarios that passed, even those that were not asked for.
func (k *kit) passed() (list []*Scenario) {
	if len(k.wires) == 0 {
		return nil
	}
	for _, s := range Scenarios() {
		c := k.report.Check(s.ID)
		if slices.Contains(compared, s.ID) && k.notApplicable(s) == "" && (c == nil || c.Result == Passed) {
			list = append(list, s)
		}
	}
	return list
}

// differs runs a scenario once, and then as often as runs says, at once, with module. It returns a
// run that failed or whose trace is not that of the first run, or nil if there is none.
func (k *kit) differs(s *Scenario, module *wasm.Module, runs int) (*recording, error) {
	c := k.setup
	c.wire = k.wires[0]
	_, first, err := k.once(&c, s, cutter{})
	if err != nil {
		return first, err
	}
	c.module = module
	records, errs := make([]*recording, runs), make([]error, runs)
	var wait sync.WaitGroup
	for i := range runs {
		wait.Go(func() { _, records[i], errs[i] = k.once(&c, s, cutter{}) })
	}
	wait.Wait()
	for i, r := range records {
		if errs[i] == nil && !bytes.Equal(first.sum.Sum(nil), r.sum.Sum(nil)) {
			errs[i] = difference(first, r)
		}
		if errs[i] != nil {
			return r, errs[i]
		}
	}
	return nil, nil
}

// difference returns an error that says where two traces begin to differ.
func difference(a, b *recording) error {
	for i := range min(len(a.entries), len(b.entries)) {
		one, other := sdktest.Text(a.entries[i:i+1]), sdktest.Text(b.entries[i:i+1])
		if one != other {
			return fmt.Errorf("the traces part at line %d: expected\n%sgot\n%s", i+1, one, other)
		}
	}
	return errors.New("the traces have different lengths, or part in bytes that are too long to show")
}
