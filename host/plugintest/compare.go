package plugintest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// compared are the scenarios whose traces are compared: they are short, since an
// interpreter is slow, and have most of the kinds of events.
var compared = []string{"response", "out-of-order", "cancel-sent", "joined", "strange-events", "server-crashes", "close-pending"}

// comparisons are the ways to run a guest that must make no difference.
var comparisons = []struct {
	check Check
	run   func(k *kit, s *Scenario) (*recording, error)
}{
	{Check{ID: "same-twice", Title: "The same events twice give the same trace"}, (*kit).again},
	{Check{ID: "same-together", Title: "Two instances at once give the trace that one gives"}, (*kit).together},
	{Check{ID: "same-interpreted", Title: "The interpreter gives the trace that native code gives"}, (*kit).interpreted},
	{Check{ID: "same-unmetered", Title: "A module without a meter gives the trace that it gives with one"}, (*kit).unmetered},
}

// compare runs what passed again, in other ways. Only what has passed within its
// budget is run without one.
func (k *kit) compare() {
	for _, cmp := range comparisons {
		c := cmp.check
		c.Level = Fault
		if !k.wanted(c.ID) {
			continue
		}
		list := k.passed()
		if len(list) == 0 || k.stops > 0 {
			k.report.add(&c, Skipped, "none of the scenarios that are compared has passed, or the guest has used up its budget")
			continue
		}
		var err error
		var record *recording
		for _, s := range list {
			if record, err = k.differs(s, cmp.run); err != nil {
				err = fmt.Errorf("scenario %s, %w", s.ID, err)
				break
			}
		}
		k.judge(&c, err, record)
	}
}

// passed lists what is compared. Where only some checks are wanted, it is made here.
func (k *kit) passed() (list []*Scenario) {
	if len(k.wires) == 0 {
		return nil
	}
	for _, s := range Scenarios() {
		for _, id := range compared {
			if c := k.report.Check(id); s.ID == id && k.notApplicable(s) == "" && (c == nil || c.Result == Passed) {
				list = append(list, s)
			}
		}
	}
	return list
}

// differs runs a scenario and then again in another way.
func (k *kit) differs(s *Scenario, other func(*kit, *Scenario) (*recording, error)) (*recording, error) {
	c := k.setup
	c.wire = k.wires[0]
	_, first, err := k.once(&c, s, cutter{})
	if err != nil {
		return first, err
	}
	second, err := other(k, s)
	if err != nil {
		return second, err
	}
	if first.digest() != second.digest() {
		return second, difference(first, second)
	}
	return nil, nil
}

// difference says where two traces part.
func difference(a, b *recording) error {
	for i := range min(len(a.entries), len(b.entries)) {
		one, other := sdktest.Text(a.entries[i:i+1]), sdktest.Text(b.entries[i:i+1])
		if one != other {
			return fmt.Errorf("the traces part at line %d: expected\n%sgot\n%s", i+1, one, other)
		}
	}
	return errors.New("the traces have different lengths, or part in bytes that are too long to show")
}

func (k *kit) again(s *Scenario) (*recording, error) {
	c := k.setup
	c.wire = k.wires[0]
	_, r, err := k.once(&c, s, cutter{})
	return r, err
}

// together runs two at once and returns the one that came off worse.
func (k *kit) together(s *Scenario) (*recording, error) {
	var records [2]*recording
	var errs [2]error
	var wait sync.WaitGroup
	for i := range records {
		wait.Go(func() { records[i], errs[i] = k.again(s) })
	}
	wait.Wait()
	if errs[0] == nil && errs[1] == nil && records[0].digest() != records[1].digest() {
		return records[1], difference(records[0], records[1])
	}
	return records[0], errors.Join(errs[:]...)
}

func (k *kit) interpreted(s *Scenario) (*recording, error) {
	return k.elsewhere(s, wasm.Config{Interpreted: true})
}

func (k *kit) unmetered(s *Scenario) (*recording, error) {
	return k.elsewhere(s, wasm.Config{Unmetered: true})
}

// elsewhere runs a scenario on another engine, which is kept for the next one.
func (k *kit) elsewhere(s *Scenario, c wasm.Config) (*recording, error) {
	m := k.others[c.Interpreted]
	if m == nil {
		var err error
		if m, err = k.module(c); err != nil {
			return nil, err
		}
		k.others[c.Interpreted] = m
	}
	cast := k.setup
	cast.wire, cast.module = k.wires[0], m
	_, r, err := k.once(&cast, s, cutter{})
	return r, err
}
