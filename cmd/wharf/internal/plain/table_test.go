package plain

import (
	"strings"
	"testing"
)

// TestTables lays one table out for terminals of several widths. Every word of it is there
// each time, and only one that is longer than a line goes over the edge.
func TestTables(t *testing.T) {
	uri := "demo://resource/static/document/architecture.md"
	table := Table{
		{"URI", "NAME", "DESCRIPTION"},
		{uri, "architecture", "How the parts of the server fit together, and why"},
		{"demo://x", "", ""},
	}
	for columns, want := range map[int]string{
		0: `URI                                              NAME          DESCRIPTION
demo://resource/static/document/architecture.md  architecture  How the parts of the server fit together, and why
demo://x
`,
		100: `URI                                              NAME          DESCRIPTION
demo://resource/static/document/architecture.md  architecture  How the parts of the server fit
                                                               together, and why
demo://x
`,
		80: `URI                                              NAME
    DESCRIPTION
demo://resource/static/document/architecture.md  architecture
    How the parts of the server fit together, and why
demo://x
`,
		60: `URI · NAME · DESCRIPTION
demo://resource/static/document/architecture.md
    architecture
    How the parts of the server fit together, and why
demo://x
`,
		20: `URI · NAME ·
DESCRIPTION
` + uri + `
    architecture
    How the parts of
    the server fit
    together, and
    why
demo://x
`,
	} {
		if got := table.Format(columns); got != want {
			t.Errorf("%d columns: got\n%swant\n%s", columns, got, want)
		}
	}
	wide := Table{{"日本語", "a"}, {"x", "b"}}
	if got := wide.Format(80); got != "日本語  a\nx       b\n" {
		t.Errorf("wide letters: got\n%s", got)
	}
	if got := (Table{{"A", "B", "C", "D"}, {strings.Repeat("a", 50), "", strings.Repeat("c", 40), "d"}}).Format(60); !strings.HasSuffix(got, strings.Repeat("a", 50)+"\n    "+strings.Repeat("c", 40)+"\n    d\n") {
		t.Errorf("an empty cell leaves a mark: got\n%s", got)
	}
}

func TestFacts(t *testing.T) {
	facts := [][2]string{{"plugin", "stdio"}, {"imports", "scan take write forward"}}
	for columns, want := range map[int]string{
		0:  "plugin    stdio\nimports   scan take write forward\n",
		25: "plugin    stdio\nimports   scan take write\n          forward\n",
	} {
		if got := Facts(facts, columns); got != want {
			t.Errorf("%d columns: %s", columns, got)
		}
	}
}

// Many cells that stand below the first one have their headings, and scripts without blanks are
// broken under their margin.
func TestTableNarrow(t *testing.T) {
	table := Table{{"SERVER", "STATE", "ERA", "TOOLS", "LATENCY", "ABOUT"}, {"files", "connected", "", "12", "0.251 ms", "世界中の都市の天気を調べます"}}
	const want = `SERVER · ABOUT
files
    state connected · tools 12
    · latency 0.251 ms
    世界中の都市の天気を調べま
    す
`
	if got := table.Format(30); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	beside := Table{{"TOOL", "DESCRIPTION"}, {"a", "世界中の都市の天気を調べます。もっと"}}
	if got, want := beside.Format(32), "TOOL  DESCRIPTION\na     世界中の都市の天気を調べま\n      す。もっと\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A word that has no room beside the other cells stands below them, where it can be copied.
func TestTableLongWords(t *testing.T) {
	table := Table{{"WHAT", "IS"}, {"platform", "linux"}, {"client claude", "/home/me/config/claude_desktop.json: 1 server"}}
	const want = `WHAT           IS
platform       linux
client claude
    /home/me/config/claude_desktop.json: 1
    server
`
	if got := table.Format(42); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// One row that is too wide does not break those that have room.
func TestTableOfToolsWithManyArguments(t *testing.T) {
	table := Table{
		{"TOOL", "ARGUMENTS", "DESCRIPTION"},
		{"echo", "message=string [count=number]x", "Says it again."},
		{"find", "owner=string topic=string [page=number]", "Looks for what is there."},
		{"stop", "", "Ends it."},
		{"bare", "", ""},
	}
	const want = `TOOL · ARGUMENTS · DESCRIPTION
echo  message=string [count=number]x
    Says it again.
find
    owner=string topic=string
    [page=number]
    Looks for what is there.
stop
    Ends it.
bare
`
	if got := table.Format(36); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
