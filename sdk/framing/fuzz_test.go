//go:build !wasip1

package framing_test

import (
	"slices"
	"testing"
)

// However a stream is cut, the same messages come out of it.
func FuzzLines(f *testing.F)   { fuzzSplits(f, "ndjson", lines) }
func FuzzLengths(f *testing.F) { fuzzSplits(f, "content-length", lengths) }
func FuzzAuto(f *testing.F)    { fuzzSplits(f, "auto", either) }

func fuzzSplits(f *testing.F, name string, seeds []hazard) {
	for _, s := range seeds {
		f.Add([]byte(s.stream), []byte{1, 7, 30})
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		want, wantLogs := feed(t, name, string(stream))
		got, logs := feed(t, name, cut(stream, cuts)...)
		if !slices.Equal(got, want) || !slices.Equal(logs, wantLogs) {
			t.Fatalf("whole: %q %q\ncut:   %q %q", want, wantLogs, got, logs)
		}
	})
}

// cut cuts the stream into chunks of these sizes, over and over.
func cut(stream, sizes []byte) (chunks []string) {
	for i := 0; len(stream) > 0; i++ {
		n := len(stream)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		chunks = append(chunks, string(stream[:n]))
		stream = stream[n:]
	}
	return chunks
}
