package measure

import (
	"context"
	"time"
)

// patience is how long the client waits for the next notification. After that, the missing
// ones count as lost.
const patience = 10 * time.Second

// flooded asks for notifications and waits until the last was counted, which
// may be after the answer.
func flooded(ctx context.Context, r *run) (Values, error) {
	if _, err := r.pour(ctx, max(r.Flood/10, 1)); err != nil {
		return nil, err
	}
	before := readMeter()
	start := time.Now()
	heard, err := r.pour(ctx, r.Flood)
	if err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	values := readMeter().since(before, r.Flood)
	values[Rate] = perMillisecond(heard, elapsed)
	values[Lost] = float64(r.Flood - heard)
	values[Peak] = residentPeak()
	return values, nil
}

// pour returns how many notifications of one flood were heard.
func (r *run) pour(ctx context.Context, count int) (heard int, err error) {
	r.heard.Expect(count)
	if err := r.client.Flood(ctx, count); err != nil {
		return 0, err
	}
	for {
		heard = r.heard.Count()
		select {
		case <-r.heard.Done():
			return count, nil
		case <-time.After(patience):
			if r.heard.Count() == heard {
				return heard, nil
			}
		}
	}
}
