package trust

import (
	"slices"
	"strings"
	"testing"
)

// sample is an entry with something in every place.
func sample() Entry {
	return Entry{
		Project: "/home/me/repo", File: ".mcp.json", Server: "files",
		Facts: []Fact{
			{Name: "command", Values: []string{"/usr/bin/npx"}},
			{Name: "arguments", Values: []string{"-y", "server@1.2.3", "${HOME}/notes"}, List: true},
			{Name: "environment", Values: []string{"TOKEN"}, List: true},
			{Name: "environment TOKEN", Values: []string{Digest("${TOKEN}")}, Hidden: true},
		},
	}
}

// The hash is part of what the ledger keeps: with another one all that users have
// approved of would be asked anew.
func TestHashStays(t *testing.T) {
	const want = "sha256:daabd0212af4f8f2258924d49284aa79e2134ac776fb1ba8b42bfc42ccbaff8b"
	if got := sample().Hash(); got != want {
		t.Errorf("the hash is %s; it was %s", got, want)
	}
	if got := (Entry{}).Hash(); got != "sha256:598ecb8a89ff2ced3fc41d11c8daf7b27f2c7568f951e767a9b23a7461d72658" {
		t.Errorf("the hash of nothing is %s", got)
	}
}

func TestEveryByteCounts(t *testing.T) {
	seen := map[string]string{sample().Hash(): "the sample"}
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
		"hidden value":    func(e *Entry) { e.Facts[3].Values[0] = Digest("${TOKENS}") },
		"file to server":  func(e *Entry) { e.File, e.Server = ".mcp.jsonf", "iles" },
	} {
		e := sample()
		for i := range e.Facts {
			e.Facts[i].Values = slices.Clone(e.Facts[i].Values)
		}
		change(&e)
		if other, twice := seen[e.Hash()]; twice {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[e.Hash()] = name
	}
}

func TestDifferences(t *testing.T) {
	was, is := sample(), sample()
	is.Facts = []Fact{
		{Name: "command", Values: []string{"/usr/bin/npx"}},
		{Name: "arguments", Values: []string{"-y", "server@1.2.4", "\x1b[2J"}, List: true},
		{Name: "folder", Values: []string{"/tmp"}},
		{Name: "environment TOKEN", Values: []string{Digest("x")}, Hidden: true},
		{Name: "contents of x.js", Values: []string{Digest("y")}, Hidden: true},
	}
	var got []string
	for _, d := range Differences(was, is) {
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
	if d := Differences(was, sample()); len(d) > 0 {
		t.Errorf("the same entry differs: %v", d)
	}
	if got := Names(Differences(is, was)); !strings.Contains(got, "arguments, environment") {
		t.Error(got)
	}
}

func TestEntriesThatNobodyCouldJudge(t *testing.T) {
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
		if e.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := sample().Check(); err != nil {
		t.Error(err)
	}
}

func TestLinesShowAll(t *testing.T) {
	e := sample()
	long := strings.Repeat("word ", 1000)
	e.Facts[1].Values = []string{"a b", "", "\u202egnp.exe", "x\ny", long, `c:\x`, "é", "a\u200bb", "\u3164"}
	got := strings.Join(e.Lines(), "\n")
	want := `arguments    "a b" "" "\u202egnp.exe" "x\ny" "` + long + `" "c:\x" é "a\u200bb" "\u3164"`
	if !strings.Contains(got, want) || !strings.Contains(got, "hash         "+e.Hash()) || strings.Contains(got, Digest("${TOKEN}")) {
		t.Error(got)
	}
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain text":           "plain text",
		"tab\tnew\nline\r":     `tab\tnew\nline\r`,
		"\x1b]0;title\x07":     `\x1b]0;title\a`,
		"\u009b31m":            `\u009b31m`,
		"\u2066a\u2069":        `\u2066a\u2069`,
		"a\u00a0b\u3000c":      `a\u00a0b\u3000c`,
		"\u200b\u200d\ufeff":   `\u200b\u200d\ufeff`,
		"\U000e0041\U000e007f": `\U000e0041\U000e007f`, // a tag, which spells text that nobody sees
		"\ufe0f\U000e0100":     `\ufe0f\U000e0100`,
		"\u115f\uffa0\u2800":   `\u115f\uffa0\u2800`,
		"\u2028\u2029\u034f":   `\u2028\u2029\u034f`,
		"bad\xff\xc3":          `bad\xff\xc3`,
		"\ufffd":               "\ufffd",
		"日本 é ß 🚢":             "日本 é ß 🚢",
		"e\u0301":              `e\u0301`, // a mark
		"\u05e9\u0644\u200f":   `\u05e9\u0644\u200f`,
		"\U0001e900":           `\U0001e900`,
		"a  b        c":        "a  b        c",
		"a         b":          `a\x20{9}b`,
		"it's":                 "it's",
		"\ue000\U0010ffff":     `\ue000\U0010ffff`,
		"\x00":                 `\x00`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("Visible(%q) = %s, want %s", text, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x1b[2J\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Visible(text)
		for _, r := range got {
			if !isName(r) {
				t.Errorf("Visible(%q) holds %U", text, r)
			}
		}
		if again := Visible(got); again != got {
			t.Errorf("Visible(%q) = %q, and of that %q", text, got, again)
		}
	})
}

func TestReadable(t *testing.T) {
	for text, want := range map[string]string{
		"two\r\nlines\n\n\tand":           "two\nlines\n\n    and",
		"\x1b[2J\u202e\u3164":             `\x1b[2J\u202e\u3164`,
		"שלום e\u0301\u0302":              "שלום e\u0301\u0302",
		"e\u0301\u0302\u0303\u0304\u0305": "e\u0301\u0302\u0303" + `\u0304\u0305`,
		"\u0301a\n\u0301b":                `\u0301a` + "\n" + `\u0301b`, // on no letter
		"1\u20e3":                         `1\u20e3`,                    // drawn around it
		strings.Repeat(" ", 60000):        `\x20{60000}`,
	} {
		if got := Readable(text); got != want {
			t.Errorf("Readable(%q) = %q, want %q", text, got, want)
		}
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

func TestSameHash(t *testing.T) {
	hash := sample().Hash()
	bare := strings.TrimPrefix(hash, prefix)
	for named, want := range map[string]bool{
		hash: true, bare: true, strings.ToUpper(bare): true, "SHA256:" + strings.ToUpper(bare): true,
		"": false, "sha256:": false, bare[:12]: false, hash + "0": false, Digest("x"): false,
	} {
		if SameHash(hash, named) != want {
			t.Errorf("%q: %v", named, !want)
		}
	}
}
