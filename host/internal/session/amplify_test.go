//go:build !race

// What is counted here is memory, and the race detector has its own. One goroutine does it.

package session

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

var hostile = flag.Bool("hostile", false, "measure what is held of hostile messages as large as they may be, and print the worst")

// What is held of a message of n bytes is at most heldFactor·n + heldFixed, and what
// is allocated on the way at most spentFactor·n + heldFixed: the collector may not
// have taken that back yet. The first is measured twice. A message of far more
// elements than are read of any list has to be refused, or else to be held without
// any memory for each of them: heldSlack stands for heldFixed then. One that has just
// as many as are read is what heldFixed is for.
const (
	heldFactor  = 4
	heldFixed   = 16 << 20
	heldSlack   = 1 << 20
	spentFactor = 16
)

// Sizes of messages, in bytes.
const (
	usualSize   = 512 << 10 // 10 times more elements than are read
	hostileSize = 15 << 20
)

// filling is what a member of a message is filled with: as many parts as there is
// room for, each with its number in the place of %d.
type filling struct{ open, part, end string }

var fillings = []filling{
	{`[`, `{}`, `]`},
	{`{`, `"%d":{}`, `}`},
	{`[`, `""`, `]`},
	{`[`, `{"name":"%d","uri":"%d","uriTemplate":"%d","taskId":"%d","status":"working","type":"text"}`, `]`},
	{`[`, `{"name":"%d"}`, `]`},
	{`[`, `{"mode":"url","elicitationId":"%d"}`, `]`},
	{`[`, `[]`, `]`},
	{`{`, `"%d":""`, `}`},
	{`{"properties":{`, `"%d":{"type":"string","x-mcp-header":"h%d"}`, `}}`},
	{strings.Repeat(`{"properties":{"p":`, 40) + `{"properties":{`, `"%d":{}`, `}}` + strings.Repeat(`}}`, 40)},
	{`"`, `\n`, `"`},
	{`"`, `\u0001`, `"`},
}

// filled has what fill has made, which the test needs over and over.
var filled = map[string]string{}

// fill returns so many parts, or as many as take so many bytes.
func (f filling) fill(parts, bytes int) string {
	key := fmt.Sprint(f, parts, bytes)
	if filled[key] == "" {
		filled[key] = f.write(parts, bytes)
	}
	return filled[key]
}

func (f filling) write(parts, bytes int) string {
	var out strings.Builder
	if bytes < math.MaxInt {
		out.Grow(bytes + len(f.open+f.part+f.end) + 16)
	}
	out.WriteString(f.open)
	for n := 0; n < parts && out.Len() < bytes; n++ {
		if n > 0 && f.open != `"` { // a string has no commas
			out.WriteByte(',')
		}
		out.WriteString(strings.ReplaceAll(f.part, "%d", strconv.Itoa(n)))
	}
	out.WriteString(f.end)
	return out.String()
}

// place is a member of a message: the names of the members that lead to it, one in
// the other. A name that ends in [] is that of a list with one element.
type place []string

func (p place) String() string { return strings.Join(p, ".") }

// message returns a message with members of those names and values at p.
func (w *way) message(p place, members string) string {
	open, closing := "", ""
	base := w.base
	for _, name := range p {
		bare, list := strings.CutSuffix(name, "[]")
		open += object(base, bare) + strconv.Quote(bare) + ":"
		base = nil
		if closing = "}" + closing; list {
			open, closing, base = open+"[", "]"+closing, element
		}
	}
	for _, name := range memberName.FindAllStringSubmatch(members, 1) {
		return open + object(base, name[1]) + members + "}" + closing
	}
	return open + object(base, "") + members + "}" + closing
}

// element has what the elements of lists are known by.
var element = []string{`"name":"n"`, `"uri":"u"`, `"uriTemplate":"u"`, `"taskId":"1"`, `"status":"completed"`, `"type":"text"`, `"role":"user"`}

var memberName = regexp.MustCompile(`^"([^"]*)":`)

// object begins an object of those members but the one of a name.
func object(members []string, but string) string {
	out := "{"
	for _, m := range members {
		if !strings.HasPrefix(m, strconv.Quote(but)+":") {
			out += m + ","
		}
	}
	return out
}

// vocabulary has all names of members that the source of what reads messages knows.
type vocabulary struct {
	names      []string
	containers []string // those that others lie in, as far as the source shows it
	raw        []string // those that are kept as they are, and read in another way later
	lists      []string // those of fields that are slices or maps
}

func newVocabulary(t testing.TB) *vocabulary {
	names, containers, raw, lists := make(map[string]bool), make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, dir := range []string{".", "../../mcp", "../schema"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				found, container := namesIn(n)
				for _, name := range found {
					names[name], containers[name] = true, containers[name] || container
					if field, ok := n.(*ast.Field); ok {
						switch field.Type.(type) {
						case *ast.ArrayType, *ast.MapType, *ast.IndexExpr:
							lists[name] = true
						case *ast.SelectorExpr:
							raw[name] = true
						}
					}
				}
				return true
			})
		}
	}
	maps.DeleteFunc(containers, func(_ string, is bool) bool { return !is })
	return &vocabulary{slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(containers)), slices.Sorted(maps.Keys(raw)), slices.Sorted(maps.Keys(lists))}
}

var (
	wholeName = regexp.MustCompile(`^[$_a-z][-A-Za-z0-9_./]*$`)
	jsonTag   = regexp.MustCompile(`json:"([^",]+)`)
)

// namesIn returns the texts of a node that may be names of members, which are in tags
// of fields, cases of a switch, constants, and arguments of member, and whether they
// are those of containers: fields of other than plain types, and arguments.
func namesIn(n ast.Node) (names []string, container bool) {
	literals := func(list []ast.Expr) {
		for _, e := range list {
			if l, ok := e.(*ast.BasicLit); ok && l.Kind == gotoken.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && wholeName.MatchString(text) && !strings.Contains(text, "notifications/") {
					names = append(names, text)
				}
			}
		}
	}
	switch n := n.(type) {
	case *ast.Field:
		if n.Tag != nil {
			if m := jsonTag.FindStringSubmatch(n.Tag.Value); m != nil && m[1] != "-" {
				names = append(names, m[1])
			}
		}
		named, ok := n.Type.(*ast.Ident)
		return names, !ok || ast.IsExported(named.Name)
	case *ast.CaseClause:
		literals(n.List)
	case *ast.ValueSpec:
		literals(n.Values)
	case *ast.KeyValueExpr:
		literals([]ast.Expr{n.Value})
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "member" {
			literals(n.Args)
			return names, true
		}
	}
	return names, false
}

// spent is how many bytes are allocated while f runs.
func spent(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// Probing looks for the members that something is made of: each further element takes
// elementBytes at least, more than with a name that nothing knows. Even the few are
// more than an error quotes.
const (
	fewParts, manyParts = 100, 150
	elementBytes        = 8
)

// prober sends the messages of a way over one session.
type prober struct {
	*way
	t     testing.TB
	trial *trial
}

// cost is what a session allocates for a message that has a member of that name at a
// place, with so many parts.
func (w *prober) cost(p place, name string, f filling, parts int) int {
	text := w.message(p, strconv.Quote(name)+":"+f.fill(parts, math.MaxInt))
	if w.opens {
		w.trial = newTrial(w.t, w.way, text)
		defer func() { w.trial.close(w.t) }()
	} else {
		w.trial.reset(text)
	}
	return spent(func() { w.trial.run(w.t) })
}

// knows reports whether something is made of the member of that name at a place.
func (w *prober) knows(p place, name string, f filling) bool {
	const least = (manyParts - fewParts) * elementBytes
	// A collection would empty the pools, and a list of an earlier session would be compressed meanwhile:
	// on a busy machine that hid what is made of a member.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	packing.Lock()
	defer packing.Unlock()
	strange := "?" + name[1:]    // as long
	w.cost(p, name, f, fewParts) // what is allocated the first time is not of interest
	for range 3 {                // nor is what others allocate meanwhile
		made := w.cost(p, name, f, manyParts) - w.cost(p, name, f, fewParts)
		if made < least || made-w.cost(p, strange, f, manyParts)+w.cost(p, strange, f, fewParts) < least {
			return false
		}
	}
	return true
}

// places returns where in the messages of a way something is made of a list or of an
// object: in the message itself, in what is found there, and in all else that may be a
// container, where there is time for the names of lists alone.
func (w *way) places(t testing.TB, v *vocabulary) (found []place) {
	probe := prober{way: w, t: t}
	if !w.opens {
		probe.trial = newTrial(t, w, "{}")
		defer probe.trial.close(t)
	}
	if w.method == mcp.MethodListTools { // what is read of them later
		for _, name := range v.raw {
			found = append(found, place{"tools[]", name})
		}
	}
	search := func(p place, names []string) {
		for _, name := range names {
			at := append(slices.Clone(p), name)
			same := func(p place) bool { return slices.Equal(p, at) }
			if !slices.ContainsFunc(found, same) && (probe.knows(p, name, fillings[0]) || probe.knows(p, name, fillings[1])) {
				found = append(found, at)
			}
		}
	}
	search(nil, v.names)
	for _, p := range slices.Clone(found) {
		search(place{p[0]}, v.names)
		search(place{p[0] + "[]"}, v.names)
	}
	rest := v.lists
	if *hostile {
		rest = v.names
	}
	containers := v.containers
	if !testenv.Long() && !*hostile {
		containers = nil
		for _, must := range mustFind[w.String()] {
			if name, _, deep := strings.Cut(must, "."); deep {
				containers = append(containers, strings.TrimSuffix(name, "[]"))
			}
		}
	}
	for _, name := range containers {
		search(place{name}, rest)
		search(place{name + "[]"}, rest)
	}
	return found
}

// measured is what one message made the host hold or do.
type measured struct {
	place       place
	filling     filling
	bytes       int
	held, spent int
	err         error
}

// measure has a message come in whose member at p is filled, and measures.
func (w *way) measure(t testing.TB, p place, f filling, parts, size int) measured {
	last := len(p) - 1
	text := w.message(p[:last], strconv.Quote(p[last])+":"+f.fill(parts, size))
	tr := newTrial(t, w, text)
	defer tr.close(t)
	packing.Lock() // a list of an earlier session would be compressed meanwhile
	defer packing.Unlock()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tr.run(t)
	runtime.ReadMemStats(&after)
	m := measured{place: p, filling: f, bytes: tr.puppet.sent, err: tr.err}
	m.spent = int(after.TotalAlloc - before.TotalAlloc)
	runtime.GC()
	runtime.ReadMemStats(&after)
	m.held = int(after.HeapAlloc) - int(before.HeapAlloc)
	runtime.KeepAlive(tr)
	return m
}

// check measures a message that is full, and one with as many parts as are read.
func (w *way) check(t *testing.T, p place, f filling) (full, most measured) {
	fixed := heldFixed
	full = w.measure(t, p, f, math.MaxInt, usualSize)
	if full.bytes/len(f.part) > 2*mcp.MaxElements {
		fixed = heldSlack
	}
	full.check(t, fixed)
	if most = full; fixed == heldSlack {
		most = w.measure(t, p, f, mcp.MaxElements, hostileSize)
		most.check(t, heldFixed)
	}
	return full, most
}

func (m *measured) check(t *testing.T, fixed int) {
	if most := heldFactor*m.bytes + fixed; m.held > most {
		t.Errorf("%v: %d KB are held of a message of %d KB full of %s; want at most %d KB (%v)",
			m.place, m.held>>10, m.bytes>>10, m.filling.part, most>>10, m.err)
	}
	if most := spentFactor*m.bytes + heldFixed; m.spent > most {
		t.Errorf("%v: %d KB are allocated for a message of %d KB full of %s; want at most %d KB (%v)",
			m.place, m.spent>>10, m.bytes>>10, m.filling.part, most>>10, m.err)
	}
}

// worst measures the worst again, as large as a message may be, and says what is held
// of that, and of the worst that has as many elements as are read.
func (w *way) worst(t *testing.T, full, most []measured) {
	costs := func(a, b measured) int { return cmp.Compare(b.held+b.spent, a.held+a.spent) }
	slices.SortFunc(full, costs)
	var large measured
	for _, m := range full[:min(len(full), 5)] {
		m = w.measure(t, m.place, m.filling, math.MaxInt, hostileSize)
		m.check(t, heldFixed)
		if m.held+m.spent > large.held+large.spent {
			large = m
		}
	}
	many := slices.MaxFunc(most, func(a, b measured) int { return cmp.Compare(a.held, b.held) })
	fmt.Printf("%-36s %v; with %d elements %v\n", w, &large, mcp.MaxElements, &many)
}

func (m *measured) String() string {
	return fmt.Sprintf("%.1f MiB hold %.1f and allocate %.1f (%v of %.20s)", mib(m.bytes), mib(max(m.held, 0)), mib(m.spent), m.place, m.filling.part)
}

func mib(bytes int) float64 { return float64(bytes) / (1 << 20) }

// TestAmplification fills every list and every object that a session makes something
// of, in every message of the protocol, and measures what is held and what is
// allocated. Where those are it finds out by itself: it tries all names that the
// source of the decoders knows, in all messages and in all members of them.
func TestAmplification(t *testing.T) {
	v := newVocabulary(t)
	if len(v.names) < 100 || !slices.Contains(v.containers, "completion") {
		t.Fatalf("the source has only the names %q, and of containers %q", v.names, v.containers)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // to stop the world is cheap then
	for i, w := range ways() {
		if w.alike && !*hostile || i%2 != 0 && !testenv.Long() && !*hostile {
			continue
		}
		t.Run(w.String(), func(t *testing.T) {
			var full, most []measured
			places := w.places(t, v)
			t.Log(places)
			found := " "
			for _, p := range places {
				found += p.String() + " "
				for _, f := range fillings {
					one, other := w.check(t, p, f)
					full, most = append(full, one), append(most, other)
				}
			}
			for _, must := range mustFind[w.String()] {
				if !strings.Contains(found, " "+must+" ") {
					t.Errorf("%s was not found", must)
				}
			}
			if *hostile && len(full) > 0 {
				w.worst(t, full, most)
			}
		})
	}
}

// mustFind has the places that would make a search worthless that does not find them.
var mustFind = map[string][]string{
	mcp.MethodDiscover: {"supportedVersions"}, mcp.MethodListTools: {"tools"}, mcp.MethodListPrompts: {"prompts", "prompts[].arguments"},
	mcp.MethodListResources: {"resources"}, mcp.MethodListTemplates: {"resourceTemplates"}, mcp.MethodListTasks: {"tasks"},
	mcp.MethodCallTool: {"content"}, mcp.MethodGetPrompt: {"messages"}, mcp.MethodReadResource: {"contents"}, mcp.MethodComplete: {"completion.values"},
	mcp.NotificationAcknowledged: {"notifications.resourceSubscriptions"},
}

// TestEveryMethodHasAWay: a method that is new in the protocol is tried as well.
func TestEveryMethodHasAWay(t *testing.T) {
	f, err := parser.ParseFile(gotoken.NewFileSet(), "../../mcp/method.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Clone(outwards)
	for _, w := range ways() {
		known = append(known, w.method)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && !slices.Contains(known, strings.Trim(l.Value, `"`)) {
			t.Errorf("no way has the method %s", l.Value)
		}
		return true
	})
}
