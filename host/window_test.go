package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// stopwatch is a vault that notes when records are stored.
type stopwatch struct {
	*vault.Vault
	began, ended time.Time
}

func (s *stopwatch) Store(ctx context.Context, key vault.Key, value secret.Secret) (uint64, error) {
	s.began = time.Now()
	defer func() { s.ended = time.Now() }()
	return s.Vault.Store(ctx, key, value)
}

// BenchmarkWindow measures the time in which a login is lost to a kill: from when
// the issuer has no way back until the refresh token that it gave is on disk. What
// the disk takes is told apart: the rest is the way of the answer, and the step in
// which the provider makes a record of it.
func BenchmarkWindow(b *testing.B) {
	f := newHostProcesses(b, 0)
	watch := &stopwatch{Vault: f.vault}
	a := newAccount(b, f, watch)
	var whole, disk []time.Duration
	for b.Loop() {
		pairs, err := a.Apply(b.Context(), &httpclient.Request{})
		if err != nil {
			b.Fatal(err)
		}
		f.expire()
		f.read()
		retry, err := a.Challenge(b.Context(), &httpclient.Challenge{Status: 401, Number: 1, Sent: pairs})
		l := f.read()
		if !retry || err != nil || len(l.redeemed) != 1 {
			b.Fatalf("retry %v, error %v, redeemed %d times", retry, err, len(l.redeemed))
		}
		whole = append(whole, watch.ended.Sub(l.redeemed[0].at))
		disk = append(disk, watch.ended.Sub(watch.began))
	}
	report(b, "", whole)
	report(b, "-disk", disk)
}

// newAccount is what a host makes of an entry, with a stopwatch in it.
func newAccount(b *testing.B, f *hostProcesses, watch *stopwatch) *auth.Account {
	entry := stormy(f.url, "watch")
	origin, err := httpclient.ParseOrigin(entry.URL)
	if err != nil {
		b.Fatal(err)
	}
	fetch, err := egress.NewFetcher(egress.Policy{Server: origin, Discover: true})
	if err != nil {
		b.Fatal(err)
	}
	engine, err := auth.NewEngine(auth.EngineConfig{CacheDir: testenv.CodeDir()})
	if err != nil {
		b.Fatal(err)
	}
	a := auth.NewAccount(auth.Config{
		Name:   "oauth",
		Server: step.Server{Name: entry.Name, URL: entry.URL, Resource: origin.Resource()},
		Provider: func(ctx context.Context) (auth.Provider, error) {
			p, err := engine.Load(ctx, "oauth", plugins.Builtin()["oauth"]())
			if err != nil {
				return nil, err
			}
			return auth.ForAccount(p), nil
		},
		Settings: func(context.Context) (json.RawMessage, error) { return json.Marshal(entry.Auth.Settings) },
		Vault:    watch,
		Fetch:    fetch,
	})
	b.Cleanup(func() {
		a.Close()
		fetch.Close()
		if err := engine.Close(); err != nil {
			b.Error(err)
		}
	})
	return a
}

func report(b *testing.B, what string, ds []time.Duration) {
	slices.Sort(ds)
	for name, share := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		b.ReportMetric(float64(ds[int(share*float64(len(ds)-1))].Microseconds()), name+what+"-µs")
	}
}
