package abi

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

//go:embed doc.go
var docSource string

// The examples of the package comment are vectors too: a line with the block
// and its value, then lines of hex with remarks behind them.
func TestDocExamples(t *testing.T) {
	found := 0
	for para := range strings.SplitSeq(docSource, "\n//\n") {
		first, rest, _ := strings.Cut(strings.TrimPrefix(para, "//\t"), "\n")
		block, value, _ := strings.Cut(first, " ")
		if _, known := codecs[block]; !known || !strings.HasPrefix(value, "{") {
			continue
		}
		found++
		data, err := hex.DecodeString(hexOf(rest))
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		checkGood(t, codecs[block], vector{value: value, data: data, canonical: true})
	}
	if found != 3 {
		t.Errorf("found %d examples, want 3", found)
	}
}

// hexOf joins the pairs of hex digits at the start of each line. A remark is
// set off by three spaces or more.
func hexOf(lines string) string {
	var digits strings.Builder
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "//"))
		code, _, _ := strings.Cut(line, "   ")
		digits.WriteString(strings.Join(strings.Fields(code), ""))
	}
	return digits.String()
}

// The tables of the package comment name what the code names, by its numbers.
func TestDocTables(t *testing.T) {
	var want []string
	for k := Kind(1); k < kindEnd; k++ {
		want = append(want, fmt.Sprintf("%d %v", k, k))
	}
	for w := What(1); w < reportEnd; w++ {
		want = append(want, fmt.Sprintf("%d %v", w, w))
	}
	for s := OK; s > statusEnd; s-- {
		want = append(want, fmt.Sprintf("%d %v", s, s))
	}
	for _, v := range []Verdict{0, 1, 2, 3, 4, -32, -33, -34, -35} {
		want = append(want, fmt.Sprintf("%d %v", v, v))
	}
	for k := OpenKind(1); k < openEnd; k++ {
		want = append(want, fmt.Sprintf("%d %v", k, k))
	}
	for _, c := range Calls() {
		want = append(want, c.String()+" (")
	}
	doc := regexp.MustCompile(`[\s/]+`).ReplaceAllString(docSource, " ")
	for _, w := range want {
		if !strings.Contains(doc, w) {
			t.Errorf("the package comment does not have %q", w)
		}
	}
}

func TestDocLimits(t *testing.T) {
	doc := strings.Join(strings.Fields(docSource), " ")
	for _, want := range []string{
		fmt.Sprintf("handles %d", MaxHandles), fmt.Sprintf("timers %d", MaxTimers),
		fmt.Sprintf("timer, shortest %d ms", MinTimer), fmt.Sprintf("chunk %d KiB", ChunkSize>>10),
		fmt.Sprintf("unread chunks %d", UnreadChunks), fmt.Sprintf("saved state %d KiB", MaxSavedState>>10),
	} {
		if !strings.Contains(doc, want) {
			t.Errorf("the package comment does not say %q", want)
		}
	}
}
