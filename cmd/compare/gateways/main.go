// Command gateways measures `wharf bridge` and `wharf serve` beside a direct connection, a pump of
// bytes, a reverse proxy, a proxy on the official Go SDK and, with -node, gateways from npm.
//
//	go run ./gateways [-rounds N] [-quick] [-pin=false] [-node FOLDER] [-proxy FILE]
//
// FOLDER has a node_modules with supergateway, mcp-remote and mcporter, and node is in the PATH. Each of
// them is measured in the arrangement that it is made for: between a client on a pipe and a server over
// HTTP. FILE is the program github.com/TBXark/mcp-proxy, which stands between HTTP and HTTP.
//
// All have one server, of package server, and one client, which writes finished requests and looks for
// the id of the answer. Every measure of every contestant has processes of its own. The rounds are
// interleaved and the order rotates; a figure is the median over the rounds, a ratio the median of
// ratios within a round. Unless -pin=false says otherwise, all of them are on one processor.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// The parts that the program plays when it starts itself. The number of tools, a command or a URL
// follows.
const (
	partServer  = "serve"
	partWeb     = "serve-http"
	partPump    = "pump"
	partProxy   = "sdk-proxy"
	partReverse = "reverse-proxy"
)

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 1 {
		switch args[0] {
		case partServer, partWeb:
			tools, err := strconv.Atoi(args[1])
			if err != nil {
				return err
			}
			if args[0] == partWeb {
				return server.ServeWeb(os.Stdin, os.Stdout, server.Legacy, tools)
			}
			return server.Serve(os.Stdin, os.Stdout, server.Legacy, tools)
		case partPump:
			return pump(args[1:])
		case partProxy:
			return proxy(ctx, args[1:])
		case partReverse:
			return reverse(args[1])
		}
	}
	s := settings{rounds: 7, time: time.Second}
	flags := flag.NewFlagSet("gateways", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", s.rounds, "how many `rounds`")
	flags.StringVar(&s.node, "node", "", "a `folder` with gateways from npm")
	flags.StringVar(&s.proxy, "proxy", "", "the `file` of TBXark's mcp-proxy")
	pin := flags.Bool("pin", true, "have all on one processor")
	quick := flags.Bool("quick", false, "one short round: shows that it works, not how fast")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		s.rounds, s.time = 1, 20*time.Millisecond
	}
	if *pin {
		if err := pinSelf(); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "gateways")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := newPlaces(ctx, dir, &s)
	if err != nil {
		return err
	}
	defer p.stop()
	seen, err := s.measure(ctx, p)
	seen.print(out)
	return err
}

type settings struct {
	rounds int
	time   time.Duration // of one measure
	node   string
	proxy  string
}

// figures are what was measured: by round, of each measure and contestant.
type figures struct {
	order  []key
	values map[key]map[int]float64
}

type key struct{ measure, contestant string }

func (f *figures) put(k key, round int, value float64) {
	if f.values[k] == nil {
		f.order = append(f.order, k)
		f.values[k] = make(map[int]float64)
	}
	f.values[k][round] = value
}

// measure takes all measures. After an error the figures from before it are there.
func (s settings) measure(ctx context.Context, p *places) (figures, error) {
	f := figures{values: make(map[key]map[int]float64)}
	for round := range s.rounds {
		for _, m := range measures {
			all := m.contestants(p)
			for i := range all {
				c := all[(i+round)%len(all)]
				value, err := m.take(ctx, p, c, s.time)
				if err != nil {
					return f, fmt.Errorf("%s: %s: %w", m.name, c.name, err)
				}
				f.put(key{m.name, c.name}, round, value)
			}
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: done\n", round+1, s.rounds)
	}
	return f, nil
}

// print writes a table: each figure, and its ratio to the first contestant of its measure.
func (f *figures) print(out io.Writer) {
	slices.SortStableFunc(f.order, func(a, b key) int { return cmp.Compare(place(a.measure), place(b.measure)) })
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer t.Flush()
	for _, m := range measures {
		base := map[int]float64(nil)
		for _, k := range f.order {
			if k.measure != m.name {
				continue
			}
			if k.contestant == m.base {
				base = f.values[k]
			}
		}
		for _, k := range f.order {
			if k.measure != m.name {
				continue
			}
			var all, ratios []float64
			for round, value := range f.values[k] {
				all = append(all, value)
				if base[round] != 0 {
					ratios = append(ratios, value/base[round])
				}
			}
			ratio := ""
			if k.contestant != m.base && len(ratios) > 0 {
				ratio = fmt.Sprintf("%.2f× %s", median(ratios), m.base)
			}
			fmt.Fprintf(t, "%s\t%s\t%.4g %s\t%s\n", k.measure, k.contestant, median(all), m.unit, ratio)
		}
	}
}

// place returns where in the table a measure stands.
func place(name string) int {
	return slices.IndexFunc(measures, func(m measure) bool { return m.name == name })
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// places has the programs and what they are configured with.
type places struct {
	self, wharf string
	dir         string // of configurations
	home        string // of the caches and settings of wharf
	node        string // of gateways from npm; "" has none
	proxy       string // the program mcp-proxy; "" is none
	proxyURL    string // where it serves
	web         string // the URL of the server over HTTP
	stop        func() // ends that server
}

func (p *places) config(name string) string { return filepath.Join(p.dir, name) }
