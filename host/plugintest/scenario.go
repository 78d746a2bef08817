package plugintest

import (
	"embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed scenarios/*.txt signin/*.txt
var files embed.FS

// A Scenario is a sequence of steps of a host, a guest and a server, read from a file.
// README.md describes the form.
type Scenario struct {
	ID     string   // the name of its file
	Title  string   // what holds when it passes
	Level  Level    // what it means when it does not
	Points []string // of the proposal, R1 to P6
	For    []string // classes of transport; empty means all of them
	Needs  []string // what a transport must say it has, and otherwise it is not applicable
	Cuts   string   // how what the server says is cut: "", "every"
	Cap    int      // bytes of the longest message that the host takes; 0 = 16 MiB
	Steps  []Step

	largest int           // bytes of the longest message
	drafts  []Step        // before they are filled
	ratio   func(int) int // of sizes that were brought down; nil = as they stand
}

// A Step is one line of a scenario: a verb, and the rest of the line.
type Step struct {
	Line int
	Verb string
	Text string
}

// Scenarios returns the kit's scenarios for transports, by their ids. They are read once, and
// shared: do not change them.
func Scenarios() []*Scenario { return slices.Clone(transportScenarios()) }

// ProviderScenarios returns the kit's scenarios for auth providers, as Scenarios does.
func ProviderScenarios() []*Scenario { return slices.Clone(providerScenarios()) }

var (
	transportScenarios = sync.OnceValue(func() []*Scenario { return scenariosIn("scenarios", verbs) })
	providerScenarios  = sync.OnceValue(func() []*Scenario { return scenariosIn("signin", authVerbs) })
)

func providerScenario(id string) *Scenario {
	list := ProviderScenarios()
	return list[slices.IndexFunc(list, func(s *Scenario) bool { return s.ID == id })]
}

// scenariosIn returns the scenarios in a folder of the kit, which have these verbs. A test reads
// all of them, so no errors are returned.
func scenariosIn[V any](folder string, verbs map[string]V) (list []*Scenario) {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		text, err := files.ReadFile(folder + "/" + entry.Name())
		if err != nil {
			panic(err)
		}
		s, err := parseScenario(strings.TrimSuffix(entry.Name(), ".txt"), string(text), verbs)
		if err != nil {
			panic(err)
		}
		list = append(list, s)
	}
	return list
}

// ReadScenario reads a scenario for transports from a file, which gives it its id.
func ReadScenario(file string) (*Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	id := strings.TrimSuffix(filepath.Base(file), ".txt")
	if Known(id) {
		return nil, fmt.Errorf("%s: the kit has a check called %s, give the file another name", file, id)
	}
	return ParseScenario(id, string(text))
}

// ParseScenario reads a scenario for transports. Its error names a verb or a header that is not
// known.
func ParseScenario(id, text string) (*Scenario, error) {
	return parseScenario(id, text, verbs)
}

func parseScenario[V any](id, text string, verbs map[string]V) (*Scenario, error) {
	s := &Scenario{ID: id, Level: Required}
	number, heading := 0, true
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch rest = strings.TrimSpace(rest); {
		case line == "" || line[0] == '#':
		case heading && strings.HasSuffix(word, ":"):
			if err := s.header(strings.TrimSuffix(word, ":"), rest); err != nil {
				return nil, fmt.Errorf("scenario %s:%d: %w", id, number, err)
			}
		default:
			heading = false
			if _, known := verbs[word]; !known && word != "repeat" && word != "again" {
				return nil, fmt.Errorf("scenario %s:%d: unknown verb %q", id, number, word)
			}
			s.Steps = append(s.Steps, Step{number, word, rest})
		}
	}
	if s.Title == "" || len(s.Steps) == 0 {
		return nil, fmt.Errorf("scenario %s: expected a title and steps", id)
	}
	return s.unrolled()
}

func (s *Scenario) header(name, value string) error {
	switch name {
	case "title":
		s.Title = value
	case "level":
		s.Level = Level(value)
		if !slices.Contains(levels, s.Level) {
			return fmt.Errorf("unknown level %q", value)
		}
	case "points":
		s.Points = strings.Fields(value)
		for _, p := range s.Points {
			if !slices.ContainsFunc(points, func(known Point) bool { return known.ID == p }) {
				return fmt.Errorf("unknown point %q", p)
			}
		}
	case "for":
		s.For = strings.Fields(value)
	case "needs":
		s.Needs = strings.Fields(value)
	case "cap":
		n, err := strconv.Atoi(value)
		if s.Cap = n; err != nil || n < 1 {
			return fmt.Errorf("cap: expected a number of bytes: %q", value)
		}
	case "cuts":
		if s.Cuts = value; value != "every" {
			return fmt.Errorf("unknown cuts %q", value)
		}
	default:
		return fmt.Errorf("unknown header %q", name)
	}
	return nil
}

// unless returns a verb that fails with text if so is true.
func unless[H any](text string, so func(H) bool) func(H, string) error {
	return func(on H, _ string) error {
		if so(on) {
			return errors.New(text)
		}
		return nil
	}
}

// perform goes through steps with their verbs on a host, until a step fails. A step can end it
// early with errEnough.
func perform[H any](on H, verbs map[string]func(H, string) error, steps []Step) error {
	for _, s := range steps {
		err := verbs[s.Verb](on, s.Text)
		if err != nil && !errors.Is(err, errEnough) {
			const most = 60
			text := strings.TrimSpace(s.Verb + " " + s.Text)
			if len(text) > most {
				text = text[:most] + "…"
			}
			err = fmt.Errorf("line %d, %s: %w", s.Line, text, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check returns the check that playing the scenario makes.
func (s *Scenario) check() Check {
	return Check{ID: s.ID, Title: s.Title, Level: s.Level, Points: s.Points}
}

// maxRepeat bounds what repeat unrolls to, in steps.
const maxRepeat = 20_000

// unrolled replaces the steps between "repeat N" and "again" by N copies, in which $n is
// 1 to N, and each $fill(SIZE) by text.
func (s *Scenario) unrolled() (*Scenario, error) {
	var out []Step
	for i := 0; i < len(s.Steps); i++ {
		if s.Steps[i].Verb != "repeat" {
			out = append(out, s.Steps[i])
			continue
		}
		times, err := strconv.Atoi(s.Steps[i].Text)
		end := slices.IndexFunc(s.Steps[i:], func(p Step) bool { return p.Verb == "again" })
		if err != nil || end < 0 || times*end > maxRepeat {
			return nil, fmt.Errorf("scenario %s:%d: expected a number, steps and again", s.ID, s.Steps[i].Line)
		}
		for n := range times {
			for _, p := range s.Steps[i+1 : i+end] {
				p.Text = strings.ReplaceAll(p.Text, "$n", strconv.Itoa(n+1))
				out = append(out, p)
			}
		}
		i += end
	}
	s.drafts = slices.Clone(out)
	for i := range out {
		if err := s.fill(&out[i]); err != nil {
			return nil, fmt.Errorf("scenario %s:%d: %w", s.ID, out[i].Line, err)
		}
	}
	s.Steps = out
	return s, nil
}

// maxFill is the longest filling, in bytes.
const maxFill = 64 << 20

// fill replaces $fill(N) by as much text as makes the message on the line N bytes
// long.
func (s *Scenario) fill(p *Step) error {
	message := p.Text
	if _, m, ok := strings.Cut(p.Text, " {"); ok {
		message = "{" + m
	}
	size := len(message)
	if before, rest, found := strings.Cut(p.Text, "$fill("); found {
		number, after, _ := strings.Cut(rest, ")")
		wanted, err := strconv.Atoi(number)
		if s.ratio != nil {
			wanted = s.ratio(wanted)
		}
		n := wanted - (size - len("$fill()") - len(number))
		if err != nil || n < 0 || n > maxFill {
			return fmt.Errorf("cannot fill to %q bytes", number)
		}
		p.Text, size = before+fillText(n)+after, wanted
	}
	s.largest = max(s.largest, size)
	return nil
}

// fillText returns n bytes of text.
func fillText(n int) string { return strings.Repeat("0123456789abcdef", n/16+1)[:n] }

// carries returns how long a message may be, in bytes, and why. It returns math.MaxInt if no bound
// is known. Where the frames have a length of one or two bytes, that length is the bound. Bytes
// that a group of the pattern adds to the length are not counted.
func (p *Profile) carries() (most int, why string) {
	most = math.MaxInt
	if p.Largest > 0 {
		most, why = p.Largest, "the profile says that the wire carries no more (largest)"
	}
	form := p.lengthForm()
	if p.Framing != "pattern" || form.size == 0 || form.size > 2 {
		return most, why
	}
	more := 0
	for _, m := range placeholder.FindAllStringSubmatch(p.Said+p.Noted, -1) {
		more = max(more, added(m[1], nil))
	}
	if room := 1<<(8*form.size) - 1 - more; room < most {
		most, why = room, fmt.Sprintf("a length of %s says no more", p.Length)
	}
	return most, why
}

// usualHighWater is how much a host lets wait in a handle before it holds messages back.
const usualHighWater = 256 << 10

// within returns the scenario with sizes for a wire that carries messages of at most most bytes.
// Its fillings, its cap, and the bytes that the host lets wait are reduced in the same proportion.
// It returns false if the scenario has messages that are too long and not filled.
func (s *Scenario) within(most int) (*Scenario, bool) {
	if s.largest <= most {
		return s, true
	}
	if most < 1 {
		return nil, false
	}
	c := *s
	c.ratio = func(n int) int { return int(int64(n) * int64(most) / int64(s.largest)) }
	c.Cap, c.largest, c.Steps = c.ratio(s.Cap), 0, slices.Clone(s.drafts)
	for i := range c.Steps {
		before := c.Steps[i].Text
		if c.fill(&c.Steps[i]) != nil || c.Cap > 0 && c.Steps[i].Text == before && len(before) > c.Cap {
			return nil, false
		}
	}
	return &c, c.largest <= most
}

// sized returns a scenario in sizes that fit the wire of this plugin, with a note for the report
// if it changed sizes. If the scenario cannot be played, it returns nil and the reason.
func (k *kit) sized(s *Scenario) (*Scenario, string) {
	most, why := k.options.Profile.carries()
	fit, ok := s.within(most)
	switch {
	case !ok:
		return nil, fmt.Sprintf("it has messages of more than %d bytes, and %s", most, why)
	case fit != s:
		return fit, fmt.Sprintf("played with messages of up to %d bytes: %s", most, why)
	}
	return s, ""
}

// room returns n, or the largest size in bytes that the wire of this plugin carries if that is less.
func (k *kit) room(n int) int {
	most, _ := k.options.Profile.carries()
	return min(n, most)
}

// inWords returns a size for people.
func inWords(n int) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
