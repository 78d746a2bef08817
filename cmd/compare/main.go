package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/arena"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/contestant"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
	"github.com/wharf-mcp/wharf/cmd/compare/internal/startup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run is the program in one of its parts: the comparison, a job of it, or one of
// the servers.
func run(ctx context.Context, args []string) error {
	if len(args) == 2 && args[0] == arena.Work {
		values, err := arena.DoJob(ctx, args[1])
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(values)
		return err
	}
	if len(args) == 3 && slices.Contains(servers, args[0]) {
		tools, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		switch era := server.Era(args[1]); args[0] {
		case serve:
			return server.Serve(input{}, output{}, era, tools)
		case serveWeb:
			return server.ServeWeb(os.Stdin, os.Stdout, era, tools)
		case serveSocket:
			return server.ServeSocket(os.Stdin, os.Stdout, era, tools)
		}
	}
	s, err := parse(args)
	if err != nil {
		return err
	}
	return compare(ctx, s, os.Stdout)
}

// settings holds the values of the command line.
type settings struct {
	rounds int
	quick  bool
	pins   []bool
	era    server.Era
	tuned  bool
	json   string
	curves string // the folder of the plots; "" for none

	contestants []string
	measures    []string
	startup     bool
}

// start is the name of the measure of whole commands, which is no measure of a connection.
const start = "start"

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.IntVar(&s.rounds, "rounds", 0, "how many `rounds`; 0 is 7, or 1 with scale")
	flags.BoolVar(&s.quick, "quick", false, "one short round: shows that it works, not how fast")
	flags.StringVar(&s.json, "json", "", "write all data to a `file`")
	flags.StringVar(&s.curves, "figures", "", "where to write the plots of scale and their data: a `folder`; without it docs/figures of the repository, or nowhere with -quick")
	only := flags.String("only", "", "`names` of contestants, measures and groups of measures, separated by commas; all of the kind that is not named, but for scale")
	pin := flags.String("pin", "", "pin client and server to one processor: `on|off|both`; without it both, or off with scale")
	era := flags.String("era", string(server.Legacy), "what the server speaks: `legacy|modern`")
	flags.BoolVar(&s.tuned, "tuned", false, "have the peers keep enough connections over HTTP, which is not their default")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q; only flags are known", flags.Arg(0))
	}
	s.era = server.Era(*era)
	if s.era != server.Legacy && s.era != server.Modern {
		return s, fmt.Errorf("-era=%s: expected legacy or modern", *era)
	}
	if err := s.choose(*only); err != nil {
		return s, err
	}
	scale := slices.ContainsFunc(s.measures, measure.IsPoint)
	switch {
	case s.quick:
		s.rounds = 1
	case s.rounds == 0 && scale:
		s.rounds = 1
	case s.rounds == 0:
		s.rounds = 7
	}
	if !scale {
		s.curves = ""
		return s, s.pin(cmp.Or(*pin, "both"))
	}
	if s.curves == "" && !s.quick {
		s.curves = filepath.Join("..", "..", "docs", "figures")
	}
	return s, s.pin(cmp.Or(*pin, "off"))
}

func (s *settings) pin(how string) error {
	switch {
	case how == "on", how == "both" && s.quick:
		s.pins = []bool{true}
	case how == "off":
		s.pins = []bool{false}
	case how == "both":
		s.pins = []bool{true, false}
	default:
		return fmt.Errorf("-pin=%s: expected on, off or both", how)
	}
	if !arena.CanPin && how == "both" {
		s.pins = []bool{false}
	}
	return nil
}

// choose sorts the names into contestants and measures.
func (s *settings) choose(only string) error {
	groups := map[string][]string{
		measure.Stdio:  append(inGroup(measure.Stdio), start),
		measure.HTTP:   inGroup(measure.HTTP),
		measure.Memory: inGroup(measure.Memory),
	}
	measures := slices.Concat(groups[measure.Stdio], groups[measure.HTTP], groups[measure.Memory])
	var curves []string
	for _, c := range measure.Curves() {
		curves = append(curves, c.Name)
		groups[c.Name] = s.points(c)
		groups[measure.Scale] = append(groups[measure.Scale], groups[c.Name]...)
	}
	for name := range strings.SplitSeq(only, ",") {
		switch {
		case name == "":
		case slices.Contains(contestant.Names(), name):
			s.contestants = append(s.contestants, name)
		case slices.Contains(measures, name), measure.IsPoint(name):
			s.measures = append(s.measures, name)
		case groups[name] != nil:
			s.measures = append(s.measures, groups[name]...)
		default:
			return fmt.Errorf("-only: no %q; there are %s, and %s, the groups stdio, http and memory, and scale with its curves %s", name,
				strings.Join(contestant.Names(), ", "), strings.Join(measures, ", "), strings.Join(curves, ", "))
		}
	}
	if s.contestants == nil {
		s.contestants = contestant.Names()
	}
	if s.measures == nil {
		s.measures = measures
	}
	s.startup = slices.Contains(s.measures, start)
	s.measures = slices.DeleteFunc(s.measures, func(name string) bool { return name == start })
	return nil
}

// points names the measures of a curve. For a quick run these are the first two.
func (s *settings) points(c measure.Curve) (names []string) {
	for _, m := range measure.All() {
		if m.Curve == c.Name && !(s.quick && len(names) == 2) {
			names = append(names, m.Name)
		}
	}
	return names
}

// inGroup names the measures of a group.
func inGroup(group string) (names []string) {
	for _, m := range measure.All() {
		if m.Group() == group {
			names = append(names, m.Name)
		}
	}
	return names
}

// compare measures and reports. After an error it also reports the measures before it, which
// may have taken a quarter of an hour.
func compare(ctx context.Context, s settings, out io.Writer) error {
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plan, err := s.plan(dir)
	if err != nil {
		return err
	}
	r := report{Versions: versions(), Era: s.era, Tuned: s.tuned, Rounds: s.rounds, settings: s}
	r.Runs, err = plan.Do(ctx)
	if err == nil && s.startup {
		r.Startup, err = s.starts(ctx, dir)
	}
	if err != nil && len(r.Runs) == 0 {
		return err
	}
	r.print(out)
	if s.curves != "" {
		err = errors.Join(err, r.draw(ctx, s.curves))
	}
	if s.json != "" {
		err = errors.Join(err, r.save(s.json))
	}
	return err
}

// starts measures whole commands.
func (s settings) starts(ctx context.Context, dir string) (*startup.Result, error) {
	pairs := 15
	if s.quick {
		pairs = 1
	}
	seen, err := startup.Pairs(ctx, dir, pairs)
	if err != nil {
		return nil, err
	}
	return &seen, nil
}

// The first arguments with which the program is a server: over standard input and
// output, over HTTP or on a unix socket. The era and the number of tools follow.
const (
	serve       = "serve"
	serveWeb    = "serve-http"
	serveSocket = "serve-socket"
)

var servers = []string{serve, serveWeb, serveSocket}

func (s settings) plan(dir string) (*arena.Plan, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &arena.Plan{
		Rounds: s.rounds, Pins: s.pins, Contestants: s.contestants, Measures: s.measures,
		Program: self, Repeats: 2, Progress: os.Stderr,
		Job: measure.Job{
			Server:   []string{self, serve, string(s.era)},
			Web:      []string{self, serveWeb, string(s.era)},
			Socket:   []string{self, serveSocket, string(s.era)},
			Tuned:    s.tuned,
			CacheDir: dir,
			Time:     time.Second,
			Flood:    200_000,
		},
	}
	if s.curves != "" {
		p.Repeats = 1 // there are some 190 runs, which are to end in a quarter of an hour
	}
	if s.quick {
		p.Repeats, p.Job.Time, p.Job.Flood = 0, 30*time.Millisecond, 2_000
	}
	return p, nil
}
