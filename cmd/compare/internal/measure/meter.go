package measure

import (
	"runtime"
	"time"
)

// meter holds what this process has used so far.
type meter struct {
	cpu    time.Duration
	allocs uint64
	bytes  uint64
}

func readMeter() meter {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return meter{cpu: processorTime(), allocs: m.Mallocs, bytes: m.TotalAlloc}
}

// since returns the cost of each of the calls.
func (m meter) since(before meter, calls int) Values {
	n := float64(max(calls, 1))
	return Values{
		CPU:    (m.cpu - before.cpu).Seconds() / n * 100_000,
		Allocs: float64(m.allocs-before.allocs) / n,
		Bytes:  float64(m.bytes-before.bytes) / n,
	}
}

func mean(took []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return sum / time.Duration(max(len(took), 1))
}

// quantile returns the latency below which that part of a sorted list lies.
func quantile(sorted []time.Duration, part float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// perMillisecond returns a rate in thousands a second.
func perMillisecond(n int, d time.Duration) float64 { return float64(n) / milliseconds(d) }
