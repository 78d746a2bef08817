//go:build !race

// What is counted here is memory, of which the race detector takes its own.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
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
				a := &app{server: "files", stdio: stdio{out: io.Discard, err: io.Discard, outTTY: true, width: 80}}
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
			a := &app{stdio: stdio{out: io.Discard, err: io.Discard, outTTY: true, width: 80}}
			n := 0
			for i := range tools {
				n += len(tools[i].Description) + len(tools[i].InputSchema)
			}
			costs(t, n, func() { a.printTools(tools) })
		})
	}
}

// TestFormsAreBounded is about the last field, value and byte that are asked for.
func TestFormsAreBounded(t *testing.T) {
	fields := func(n int) string {
		return `{"properties":{` + listOf(n, `"f%d":{"type":"string"}`) + `},"required":["f0"]}`
	}
	values := func(n int) string {
		return `{"properties":{"a":{"type":"string","enum":[` + listOf(n, `"v%d"`) + `]}}}`
	}
	bytes := func(n int) string {
		const frame = len(`{"properties":{},"x":""}`)
		return `{"properties":{},"x":"` + strings.Repeat("x", n-frame) + `"}`
	}
	for _, test := range []struct {
		name, schema string
		fields       int
		want         string // of the error
	}{
		{"fields at the bound", fields(mcp.MaxFormFields), mcp.MaxFormFields, ""},
		{"a field more", fields(mcp.MaxFormFields + 1), 0, "the requested schema: want at most 100 properties, got 101"},
		{"values at the bound", values(mcp.MaxOptions), 1, ""},
		{"a value more", values(mcp.MaxOptions + 1), 0, "the requested schema: a: want at most 1000 values to choose from, got 1001"},
		{"bytes at the bound", bytes(mcp.MaxFormBytes), 0, ""},
		{"a byte more", bytes(mcp.MaxFormBytes + 1), 0, "the requested schema: want at most 262144 bytes, got 262145"},
	} {
		t.Run(test.name, func(t *testing.T) {
			form, err := readForm(t.Context(), json.RawMessage(test.schema))
			if len(form) != test.fields || (err == nil) != (test.want == "") || err != nil && err.Error() != test.want {
				t.Errorf("%d fields, %v", len(form), err)
			}
			if len(form) > 1 && (!form[0].required || form[1].required) {
				t.Error("not the first is required, and only that")
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := readForm(ctx, json.RawMessage(fields(1))); err != gone {
		t.Errorf("after the end: %v", err)
	}
}

// listOf is so many parts with commas between.
func listOf(n int, part string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(part, "%d", strconv.Itoa(i))
	}
	return strings.Join(parts, ",")
}

// TestPatternsAndProposalsAreBounded: a pattern that is long is left to the server, and
// a default that is long is not proposed.
func TestPatternsAndProposalsAreBounded(t *testing.T) {
	pattern := func(n int) string {
		return `{"type":"string","pattern":"^` + strings.Repeat("a", n-len("^")) + `"}`
	}
	if err := readOne(t, pattern(mcp.MaxPattern)).take("b"); err == nil {
		t.Error("a pattern at the bound is not looked at")
	}
	if err := readOne(t, pattern(mcp.MaxPattern+1)).take("b"); err != nil {
		t.Errorf("a longer one is: %v", err)
	}
	for n, proposed := range map[int]bool{proposedColumns: true, proposedColumns + 1: false, maxProposal: false} {
		f := readOne(t, `{"type":"string","default":"`+strings.Repeat("x", n)+`"}`)
		if f.given != proposed {
			t.Errorf("a default of %d letters is proposed: %v", n, f.given)
		}
	}
	for n, proposed := range map[int]bool{maxProposal: true, maxProposal + 1: false} { // of a value that goes by its number
		value := strings.Repeat("x", n-len(`""`))
		f := readOne(t, `{"type":"string","enum":["`+value+`"],"default":"`+value+`"}`)
		if f.given != proposed {
			t.Errorf("a default of %d bytes is proposed: %v", n, f.given)
		}
	}
	costs(t, 100*2*mcp.MaxPattern, func() {
		for range 100 {
			readOne(t, `{"type":"string","pattern":"`+strings.Repeat("a{1000}", mcp.MaxPattern*4/7)+`","default":"a"}`)
		}
	})
}

// TestPartsOfText: what is printed part by part is what is printed at once.
func TestPartsOfText(t *testing.T) {
	for _, edge := range []string{"\r\n", "é", "🚢", "\x1b", "\xff", "\xf0\x9f", "\x80\x80\x80\x80\x80"} {
		for before := range 6 {
			text := strings.Repeat("x", printPart-before) + edge + strings.Repeat("y", printPart) + edge
			var out strings.Builder
			a := &app{stdio: stdio{out: &out}}
			if err := a.printPlain(text); err != nil || out.String() != plain.Text(text) {
				t.Errorf("%q %d bytes before the end of a part: %v", edge, before, err)
			}
		}
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
