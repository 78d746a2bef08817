//go:build !race

// What is counted here is memory, of which the race detector takes its own.

package form

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/mcp"
)

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
			form, err := Read(t.Context(), json.RawMessage(test.schema))
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
	if _, err := Read(ctx, json.RawMessage(fields(1))); err != gone {
		t.Errorf("after the end: %v", err)
	}
}

// TestPatternsAndProposalsAreBounded: a pattern that is long is left to the server, and
// a default that is long is not proposed.
func TestPatternsAndProposalsAreBounded(t *testing.T) {
	pattern := func(n int) string {
		return `{"type":"string","pattern":"^` + strings.Repeat("a", n-len("^")) + `"}`
	}
	if err := readOne(t, pattern(mcp.MaxPattern)).Answer("b"); err == nil {
		t.Error("a pattern at the bound is not looked at")
	}
	if err := readOne(t, pattern(mcp.MaxPattern+1)).Answer("b"); err != nil {
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
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		readOne(t, `{"type":"string","pattern":"`+strings.Repeat("a{1000}", mcp.MaxPattern*4/7)+`","default":"a"}`)
	}
	runtime.ReadMemStats(&after)
	spent, bytes := int(after.TotalAlloc-before.TotalAlloc), 100*2*mcp.MaxPattern
	if most := 16*bytes + 16<<20; spent > most {
		t.Errorf("%d KB are allocated for %d KB; want at most %d KB", spent>>10, bytes>>10, most>>10)
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
