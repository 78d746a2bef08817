//go:build !race

// What is counted here is memory, of which the race detector takes its own.

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
)

var hostile = flag.Bool("hostile", false, "print what hostile results cost, as large as they may be")

// repeated is so many bytes of a part, each with its number in the place of %d, with
// commas between.
func repeated(part string, bytes int) string {
	var out strings.Builder
	for n := 0; out.Len() < bytes; n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strings.ReplaceAll(part, "%d", strconv.Itoa(n)))
	}
	return out.String()
}

// TestHostileResults prints results that are made to cost more than their length, and
// looks at what that allocates: the collector may not have taken it back yet. So much
// is left to the terminal that it is not counted.
func TestHostileResults(t *testing.T) {
	size := 1 << 20
	if *hostile {
		size = 15 << 20
	}
	deep := func(part string, bytes int) string {
		return strings.Repeat("[", 100) + repeated(part, bytes) + strings.Repeat("]", 100)
	}
	results := map[string]string{
		"as many blocks as are read": `{"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text"},`, mcp.MaxElements), ",") + `]}`,
		"more blocks":                `{"content":[` + repeated(`{}`, size) + `]}`,
		"more blocks, spelled so":    `{"CONTENT":[` + repeated(`{}`, size) + `]}`,
		"no blocks":                  `{"content":[` + repeated(`0`, size) + `]}`,
		"a block of many members":    `{"content":[{"type":"text",` + repeated(`"%d":0`, size) + `}]}`,
		"a strange block, deep":      `{"content":[{"type":"x","y":` + deep(`1`, size) + `}]}`,
		"a value, deep":              `{"content":[],"structuredContent":` + deep(`1`, size) + `}`,
		"a value of many members":    `{"content":[],"structuredContent":{` + repeated(`"%d":{}`, size) + `}}`,
		"no result, of many members": `{"content":1,` + repeated(`"%d":{}`, size) + `}`,
		"what may steer a terminal":  `{"content":[{"type":"text","text":"` + strings.Repeat("\x7f", size) + `"}]}`,
		"short lines":                `{"content":[{"type":"text","text":"` + strings.Repeat(`\r\n`, size/4) + `"}]}`,
	}
	for name, result := range results {
		for _, json := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, json %v", name, json), func(t *testing.T) {
				a := &app{server: "files", Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard, OutTTY: true, Width: 80}}
				a.flags.json = json
				costs(t, len(result), func() { a.printResult([]byte(result)) })
			})
		}
	}
}

// costs fails if f allocates more than a message of n bytes may.
func costs(t *testing.T, n int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	spent := int(after.TotalAlloc - before.TotalAlloc)
	if most := 16*n + 16<<20; spent > most {
		t.Errorf("%d KB are allocated for %d KB; want at most %d KB", spent>>10, n>>10, most>>10)
	}
	if *hostile {
		fmt.Printf("%-60s %5.1f times its %.1f MiB allocated\n", t.Name(), float64(spent)/float64(n), float64(n)/(1<<20))
	}
}

// TestHostileTables lists as many tools as are read, and one whose schema is most of
// what a list may have.
func TestHostileTables(t *testing.T) {
	many := make([]mcp.Tool, mcp.MaxElements)
	long := strings.Repeat("\x7f a ", 200)
	for n := range many {
		many[n] = mcp.Tool{Name: "t" + strconv.Itoa(n), Description: long, InputSchema: json.RawMessage(`{"properties":{"a":{}}}`)}
	}
	properties := func(bytes int) json.RawMessage {
		return json.RawMessage(`{"properties":{` + repeated(`"%d":{"$ref":"#/$defs/a"}`, bytes) + `},"$defs":{"a":{"x":[` + repeated(`0`, bytes) + `]}},"required":[` + repeated(`"%d"`, bytes) + `]}`)
	}
	for name, tools := range map[string][]mcp.Tool{
		"many":                       many,
		"a schema over the bound":    {{Name: "a", Description: strings.Repeat(" a", mcp.MaxListBytes/4), InputSchema: properties(mcp.MaxListBytes / 8)}},
		"a schema within the bound":  {{Name: "a", InputSchema: properties(mcp.MaxSchemaBytes / 4)}},
		"a description of one blank": {{Name: "a", Description: strings.Repeat(" ", mcp.MaxListBytes)}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &app{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard, OutTTY: true, Width: 80}}
			n := 0
			for i := range tools {
				n += len(tools[i].Description) + len(tools[i].InputSchema)
			}
			costs(t, n, func() { a.printList(tools, toolTable("", tools)) })
		})
	}
}

// TestLongMessagesInATrace: the metadata is left out of a message that is taken apart,
// and one that is long is not.
func TestLongMessagesInATrace(t *testing.T) {
	of := func(bytes int) string {
		const frame = len(`{"_meta":{},"a":""}`)
		return `{"_meta":{},"a":"` + strings.Repeat("x", bytes-frame) + `"}`
	}
	if got := withoutMeta([]byte(of(longContent))); strings.Contains(got, "_meta") {
		t.Error("at the bound it has its metadata")
	}
	if long := of(longContent + 1); withoutMeta([]byte(long)) != long {
		t.Error("one byte more, and it is taken apart")
	}
	many := []byte(`{"_meta":{},` + repeated(`"%d":0`, 4<<20) + `}`)
	costs(t, len(many), func() { withoutMeta(many) })
}
