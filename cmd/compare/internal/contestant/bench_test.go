package contestant

import (
	"context"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

// BenchmarkEcho is for profiles, of one contestant and one way:
//
//	go test -run=^$ -bench=Echo/json/wharf -cpuprofile=cpu.out ./internal/contestant
//
// Figures to compare are those of the program. The server is a process of its
// own, so that it is not in the profile.
func BenchmarkEcho(b *testing.B) {
	for _, form := range []server.Form{"", server.JSON, server.Events} {
		name := string(form)
		if form == "" {
			name = "stdio"
		}
		b.Run(name, func(b *testing.B) {
			for _, who := range Names() {
				b.Run(who, func(b *testing.B) { echo(b, who, form) })
			}
		})
	}
}

func echo(b *testing.B, who string, form server.Form) {
	d := dock(b, "serve")
	if form != "" {
		site, err := server.OpenSite([]string{d.Command[0], "serve-http"})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { site.Close() })
		d.URL = site.URL(form)
	}
	c := connect(b, who, d)
	text := NewText(100)
	b.Run("sequence", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Echo(context.Background(), text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("crowd", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if err := c.Echo(context.Background(), text); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
