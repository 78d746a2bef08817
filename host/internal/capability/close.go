package capability

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// finish closes empty once nothing is left of a closed table. The caller holds t.mu.
func (t *Table) finish() {
	if t.closed && len(t.handles) == 0 && !t.over {
		t.over = true
		t.stderr.Close()
		close(t.empty)
	}
}

// Close ends everything that is open. It returns when no goroutine, descriptor or child of the
// table is left. Each process gets its grace; if ctx ends first, the remaining processes are killed
// at once. A second Close waits like the first. Close takes no longer than the graces together,
// nine seconds by default. If something is left even then (a Data that does not return, a process
// that the system cannot kill), the error says what.
func (t *Table) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true // no more handles are opened
	all := slices.Collect(maps.Values(t.handles))
	t.finish()
	t.mu.Unlock()
	for _, h := range all {
		h.End()
	}
	done := make(chan struct{})
	go func() {
		<-t.empty
		t.teed.Wait()
		t.workers.close()
		t.freed.Do(func() { // by the first Close, for which the others wait
			for _, o := range t.openers {
				o.Close()
			}
		})
		close(done)
	}()
	orderly, cancel := context.WithTimeout(ctx, t.grace.Stdin+t.grace.Term)
	defer cancel()
	select {
	case <-done:
		return nil
	case <-orderly.Done():
	}
	t.mu.Lock()
	if !t.forced {
		t.forced = true
		close(t.force) // kills the remaining processes now
	}
	t.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-time.After(t.grace.Kill):
		return t.leftoverError()
	}
}

// leftoverError returns an error that names everything that did not end.
func (t *Table) leftoverError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for s := range t.handles {
		names = append(names, fmt.Sprintf("%s %q", s.grant.To.Kind(), s.grant.Name))
	}
	if names == nil {
		return fmt.Errorf("close: the writer for stderr does not return")
	}
	slices.Sort(names)
	return fmt.Errorf("close: still not over: %s", strings.Join(names, ", "))
}
