package vault

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// stocked returns a vault with so many records of two kilobytes: a login with
// tokens that are large, and what else there is to it, make about one.
func stocked(b *testing.B, records int) (*Vault, string) {
	dir := b.TempDir() + "/v"
	v := Open(Config{Dir: dir, Keyring: new(drawer)})
	for i := range records - 1 {
		mustStore(b, v, named(strconv.Itoa(i)), strings.Repeat("x", 2<<10))
	}
	mustStore(b, v, token, strings.Repeat("x", 2<<10))
	return v, dir
}

func BenchmarkLoad(b *testing.B) {
	for _, records := range []int{1, 5, 20} {
		b.Run(strconv.Itoa(records), func(b *testing.B) {
			v, _ := stocked(b, records)
			b.ReportAllocs()
			for b.Loop() {
				if _, found, err := v.Load(b.Context(), token); !found || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The window in which a server has committed a refresh and we have not is as long
// as a Store, as far as the vault is concerned.
func BenchmarkStore(b *testing.B) {
	v, _ := stocked(b, 20)
	value := secret.New(strings.Repeat("y", 2<<10))
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := v.Store(b.Context(), token, value); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	reportPercentiles(b, took)
}

// Sixteen that store at once, of which each waits for the others.
func BenchmarkStoreContended(b *testing.B) {
	v, dir := stocked(b, 20)
	ring := v.ring.keyring
	value := secret.New(strings.Repeat("y", 2<<10))
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(p *testing.PB) {
		v := Open(Config{Dir: dir, Keyring: ring}) // as a process of its own
		for p.Next() {
			began := time.Now()
			if _, err := v.Store(b.Context(), token, value); err != nil {
				b.Error(err)
			}
			took[next.Add(1)-1] = time.Since(began)
		}
	})
	reportPercentiles(b, took)
}

func BenchmarkLock(b *testing.B) {
	v, _ := stocked(b, 20)
	b.ReportAllocs()
	for b.Loop() {
		unlock, err := v.Lock(b.Context(), token)
		if err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}

func reportPercentiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	for name, share := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		b.ReportMetric(float64(took[int(share*float64(len(took)-1))].Microseconds()), name+"-µs")
	}
}
