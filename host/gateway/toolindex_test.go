package gateway

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// realTools are the tools that five servers on npm list: server-everything, server-filesystem,
// server-github and server-memory of @modelcontextprotocol, and @playwright/mcp.
func realTools(t testing.TB) (tools [][]byte) {
	t.Helper()
	for _, server := range []string{"everything", "filesystem", "github", "memory", "playwright"} {
		list, err := os.ReadFile(filepath.Join("testdata", "tools", server+".json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range elements(list) {
			tools = append(tools, edit(tool, change{"name", quote(aggregateName(server, text(tool, "name")))}))
		}
	}
	return tools
}

// Of sixty questions, at least nine in ten find their tool among the first five.
func TestToolsAreFound(t *testing.T) {
	tools := realTools(t)
	list, err := os.ReadFile(filepath.Join("testdata", "tools", "questions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	index := newToolIndex(tools)
	asked, found := 0, 0
	for line := range strings.Lines(string(list)) {
		answers, question, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		asked++
		var names []string
		for _, at := range index.find(question, foundDefault) {
			names = append(names, text(tools[at], "name"))
		}
		hit := false
		for _, answer := range strings.Fields(answers) {
			if !slices.ContainsFunc(tools, func(tool []byte) bool { return text(tool, "name") == answer }) {
				t.Errorf("there is no tool %s", answer)
			}
			hit = hit || slices.Contains(names, answer)
		}
		if hit {
			found++
		} else {
			t.Logf("%s is not in the answer to %q: %v", answers, question, names)
		}
	}
	t.Logf("%d of %d", found, asked)
	if asked != 60 || found*10 < asked*9 {
		t.Errorf("%d of %d questions find their tool", found, asked)
	}
}

// Three tools in place of 300 are a tenth of the text at most.
func TestSearchListsLittle(t *testing.T) {
	real := realTools(t)
	all, few := 0, 0
	for i := range 300 {
		all += len(real[i%len(real)])
	}
	for _, tool := range searchTools[0].items {
		few += len(tool)
		if !json.Valid(tool) {
			t.Errorf("%s", tool)
		}
	}
	t.Logf("%d bytes in place of %d", few, all)
	if few*10 > all {
		t.Errorf("%d bytes in place of %d", few, all)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"readFile of_the-HTTPServer": "read fil httpserver",
		"Directories, directory":     "director director",
		"creates created creating":   "creat creat creat",
		"class üben 2x":              "class üben 2x",
		"":                           "",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Tools and queries are foreign texts.
func FuzzToolIndex(f *testing.F) {
	f.Add(`{"name":"a","description":"ü","inputSchema":{"properties":{"b":1}}}`, "ü a")
	f.Add(`{"name":1,"inputSchema":[]}`, "")
	f.Fuzz(func(t *testing.T, tool, query string) {
		if !json.Valid([]byte(tool)) || !utf8.ValidString(tool) {
			return
		}
		tools := [][]byte{[]byte(tool), []byte(`{"name":"other"}`)}
		if places := newToolIndex(tools).find(query, 1); len(places) > 1 {
			t.Errorf("%v", places)
		}
	})
}

func BenchmarkToolSearch(b *testing.B) {
	real := realTools(b)
	var tools [][]byte
	for i := range 300 {
		tools = append(tools, real[i%len(real)])
	}
	for b.Loop() {
		newToolIndex(tools).find("read the contents of a text file", foundDefault)
	}
}
