package measure

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
)

// most bounds the calls of which the latency is kept.
const most = 1 << 18

// inSequence makes one call at a time and measures every latency.
func inSequence(size int) func(context.Context, *run) (Values, error) {
	return func(ctx context.Context, r *run) (Values, error) {
		text := contestant.NewText(size)
		took := make([]time.Duration, 0, most)
		if _, err := r.repeat(ctx, text, took, r.Time/10); err != nil {
			return nil, err
		}
		before := readMeter()
		took, err := r.repeat(ctx, text, took, r.Time)
		if err != nil {
			return nil, err
		}
		values := readMeter().since(before, len(took))
		values[Mean] = microseconds(mean(took))
		slices.Sort(took)
		values[P50] = microseconds(quantile(took, 0.50))
		values[P99] = microseconds(quantile(took, 0.99))
		return values, nil
	}
}

// repeat calls for that long, at least once, and appends each latency.
func (r *run) repeat(ctx context.Context, text *contestant.Text, took []time.Duration, limit time.Duration) ([]time.Duration, error) {
	start := time.Now()
	for now := start; len(took) < cap(took); {
		if err := r.client.Echo(ctx, text); err != nil {
			return nil, err
		}
		then := now
		now = time.Now()
		took = append(took, now.Sub(then))
		if now.Sub(start) > limit {
			break
		}
	}
	return took, nil
}

// atOnce lets that many goroutines call without a pause, and measures the sum.
func atOnce(callers, size int) func(context.Context, *run) (Values, error) {
	return func(ctx context.Context, r *run) (Values, error) {
		text := contestant.NewText(size)
		call := func(ctx context.Context, _, _ int) error { return r.client.Echo(ctx, text) }
		if _, err := together(ctx, callers, r.Time/10, call); err != nil {
			return nil, err
		}
		before := readMeter()
		start := time.Now()
		calls, err := together(ctx, callers, r.Time, call)
		if err != nil {
			return nil, err
		}
		elapsed := time.Since(start)
		values := readMeter().since(before, calls)
		values[Rate] = perMillisecond(calls, elapsed)
		return values, nil
	}
}

// together lets the callers call for that long and returns how many calls were
// answered. call gets the number of the caller and of its call, both from 0. The
// first error ends all.
func together(ctx context.Context, callers int, limit time.Duration, call func(ctx context.Context, caller, n int) error) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var stop atomic.Bool
	defer time.AfterFunc(limit, func() { stop.Store(true) }).Stop()

	var calls atomic.Int64
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			n := 0
			for ctx.Err() == nil && (n == 0 || !stop.Load()) {
				if err := call(ctx, caller, n); err != nil {
					cancel(err)
					return
				}
				n++
			}
			calls.Add(int64(n))
		})
	}
	wg.Wait()
	return int(calls.Load()), context.Cause(ctx)
}
