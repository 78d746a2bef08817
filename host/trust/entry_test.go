package trust

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// sample is an entry with something in every place.
func sample() Entry {
	return Entry{
		Project: "/home/me/repo", File: ".mcp.json", Server: "files",
		Facts: []Fact{
			{Name: "command", Values: []string{"/usr/bin/npx"}},
			{Name: "arguments", Values: []string{"-y", "server@1.2.3", "${HOME}/notes"}, List: true},
			{Name: "environment", Values: []string{"TOKEN"}, List: true},
			{Name: "environment TOKEN", Values: []string{digestOf("${TOKEN}")}, Hidden: true},
		},
	}
}

// The hash is part of what the store keeps: with another one, users would be asked
// again about all that they have approved of.
func TestHashStays(t *testing.T) {
	const want = "sha256:daabd0212af4f8f2258924d49284aa79e2134ac776fb1ba8b42bfc42ccbaff8b"
	if got := sample().hash(); got != want {
		t.Errorf("the hash is %s; it was %s", got, want)
	}
	if got := (Entry{}).hash(); got != "sha256:598ecb8a89ff2ced3fc41d11c8daf7b27f2c7568f951e767a9b23a7461d72658" {
		t.Errorf("the hash of nothing is %s", got)
	}
}

func TestEveryByteCounts(t *testing.T) {
	seen := map[string]string{sample().hash(): "the sample"}
	for name, change := range map[string]func(*Entry){
		"project":         func(e *Entry) { e.Project += "2" },
		"file":            func(e *Entry) { e.File = ".vscode/mcp.json" },
		"server":          func(e *Entry) { e.Server = "Files" },
		"value":           func(e *Entry) { e.Facts[0].Values[0] = "/usr/bin/npX" },
		"one more":        func(e *Entry) { e.Facts[1].Values = append(e.Facts[1].Values, "") },
		"one less":        func(e *Entry) { e.Facts[1].Values = e.Facts[1].Values[1:] },
		"order of values": func(e *Entry) { slices.Reverse(e.Facts[1].Values) },
		"order of facts":  func(e *Entry) { slices.Reverse(e.Facts) },
		"name":            func(e *Entry) { e.Facts[0].Name = "commands" },
		"fact more":       func(e *Entry) { e.Facts = append(e.Facts, Fact{Name: "x"}) },
		"fact less":       func(e *Entry) { e.Facts = e.Facts[1:] },
		"joined values":   func(e *Entry) { e.Facts[1].Values = []string{"-y server@1.2.3", "${HOME}/notes"} },
		"moved border":    func(e *Entry) { e.Facts[1].Values[0], e.Facts[1].Values[1] = "-ys", "erver@1.2.3" },
		"value to name":   func(e *Entry) { e.Facts[2] = Fact{Name: "environmentTOKEN"} },
		"hidden value":    func(e *Entry) { e.Facts[3].Values[0] = digestOf("${TOKENS}") },
		"file to server":  func(e *Entry) { e.File, e.Server = ".mcp.jsonf", "iles" },
	} {
		e := sample()
		for i := range e.Facts {
			e.Facts[i].Values = slices.Clone(e.Facts[i].Values)
		}
		change(&e)
		if other, twice := seen[e.hash()]; twice {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[e.hash()] = name
	}
}

func TestDifferences(t *testing.T) {
	was, is := sample(), sample()
	is.Facts = []Fact{
		{Name: "command", Values: []string{"/usr/bin/npx"}},
		{Name: "arguments", Values: []string{"-y", "server@1.2.4", "\x1b[2J"}, List: true},
		{Name: "folder", Values: []string{"/tmp"}},
		{Name: "environment TOKEN", Values: []string{digestOf("x")}, Hidden: true},
		{Name: "contents of x.js", Values: []string{digestOf("y")}, Hidden: true},
	}
	var got []string
	for _, d := range differences(was, is) {
		got = append(got, d.String())
	}
	want := []string{
		`arguments: -y server@1.2.4 "\x1b[2J" (it was -y server@1.2.3 ${HOME}/notes)`,
		`folder: /tmp (there was none)`,
		`environment TOKEN is another`,
		`contents of x.js is new`,
		`environment: none (it was TOKEN)`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d := differences(was, sample()); len(d) > 0 {
		t.Errorf("the same entry differs: %v", d)
	}
	if got := changeNames(differences(is, was)); !strings.Contains(got, "arguments, environment") {
		t.Error(got)
	}
}

func TestEntriesThatCannotBeJudged(t *testing.T) {
	for name, change := range map[string]func(*Entry){
		"no project": func(e *Entry) { e.Project = "" },
		"no server":  func(e *Entry) { e.Server = "" },
		"no text":    func(e *Entry) { e.Facts[0].Values = []string{"\xff"} },
		"too long":   func(e *Entry) { e.Facts[0].Values = []string{strings.Repeat("x", maxEntry)} },
		"too many":   func(e *Entry) { e.Facts[0].Values = make([]string, maxEntry) },
		"twice":      func(e *Entry) { e.Facts = append(e.Facts, e.Facts[0]) },
	} {
		e := sample()
		change(&e)
		if e.check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := sample().check(); err != nil {
		t.Error(err)
	}
}

func TestEntriesAtTheirBounds(t *testing.T) {
	e := Entry{Project: "p", File: "f", Server: "s", Facts: []Fact{{Name: "x", Values: []string{strings.Repeat("x", maxEntry-len("p f s x  "))}}}}
	if err := e.check(); err != nil {
		t.Error(err)
	}
	e.Facts[0].Values[0] += "x"
	if e.check() == nil {
		t.Error("one byte more is accepted")
	}
	e.Facts = nil
	for i := range maxFacts {
		e.Facts = append(e.Facts, Fact{Name: strconv.Itoa(i)})
	}
	if err := e.check(); err != nil {
		t.Error(err)
	}
	e.Facts = append(e.Facts, Fact{Name: "x"})
	if e.check() == nil {
		t.Error("one fact more is accepted")
	}
}

func TestLinesShowAll(t *testing.T) {
	e := sample()
	long := strings.Repeat("word ", 1000)
	e.Facts[1].Values = []string{"a b", "", "\u202egnp.exe", "x\ny", long, `c:\x`, "é", "a\u200bb", "\u3164"}
	got := strings.Join(e.lines(e.hash()), "\n")
	want := `arguments    "a b" "" "\u202egnp.exe" "x\ny" "` + long + `" "c:\x" é "a\u200bb" "\u3164"`
	if !strings.Contains(got, want) || !strings.Contains(got, "hash         "+e.hash()) || strings.Contains(got, digestOf("${TOKEN}")) {
		t.Error(got)
	}
}

func TestFactsAreCut(t *testing.T) {
	f := Fact{Name: "arguments", List: true, Values: []string{"-a", strings.Repeat(" ", 60_000), "é" + strings.Repeat("é", 600), "b"}}
	text, left := f.Text(1000)
	if want := `-a "\x20{1000}…" ` + strings.Repeat("é", 500) + "… b"; text != want || left != 59_000+202 {
		t.Errorf("%d left of %q", left, text)
	}
	if text, left := f.Text(0); left != 0 || !strings.Contains(text, `\x20{60000}`) {
		t.Errorf("%d left of %q", left, text)
	}
	f.Values = slices.Repeat([]string{"word"}, 1000)
	if text, left := f.Text(100); len(text) > 500 || left < 4*900 {
		t.Errorf("%d left of %q", left, text)
	}
}

func TestWhereFactsAreCut(t *testing.T) {
	for _, test := range []struct {
		limit  int
		values []string
		want   string
		left   int
	}{
		{4, []string{"word"}, "word", 0},
		{3, []string{"word"}, "wor…", 1},
		{3, []string{"éé"}, "é…", 2},
		{100, []string{"a", "", "b"}, `a "" b`, 0},
		{1, []string{"a", "", "", ""}, `a "" ""`, 0}, // four bytes, with those between the words
	} {
		if text, left := (Fact{List: true, Values: test.values}).Text(test.limit); text != test.want || left != test.left {
			t.Errorf("%q cut to %d is %s, and %d left; want %s, and %d", test.values, test.limit, text, left, test.want, test.left)
		}
	}
	if got := cleantext.Cut("\x80\x80", 1); got != "" {
		t.Errorf("what is no text is cut to %q", got)
	}
}

func TestSameHash(t *testing.T) {
	hash := sample().hash()
	bare := strings.TrimPrefix(hash, prefix)
	for named, want := range map[string]bool{
		hash: true, bare: true, strings.ToUpper(bare): true, "SHA256:" + strings.ToUpper(bare): true,
		"": false, "sha256:": false, bare[:12]: false, hash + "0": false, digestOf("x"): false,
	} {
		if (Approval{Hash: hash, Pin: digestOf("y")}).Names(named) != want || (Approval{Pin: hash, Hash: digestOf("y")}).Names(named) != want {
			t.Errorf("%q: %v", named, !want)
		}
	}
}

// A person sees arguments as the process gets them. The hash is of what the file says.
func TestArgumentsAreShownWithTheDollarsOfTheProcess(t *testing.T) {
	e := Entry{Facts: []Fact{{Name: "arguments", Values: []string{"-c", "echo $$$$ $${FOO}"}, List: true}}}
	before := e.hash()
	if got := e.Shown()[0].Values; !slices.Equal(got, []string{"-c", "echo $$ ${FOO}"}) {
		t.Errorf("shown: %q", got)
	}
	if e.hash() != before {
		t.Error("the hash has changed")
	}
}
