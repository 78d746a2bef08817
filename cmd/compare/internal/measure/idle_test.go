package measure

import (
	"runtime"
	"testing"
)

// Of what is left open and was written to, weigh sees every page, and sees it
// once.
func TestWeighSeesWhatIsThere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is known on Linux only")
	}
	before := weigh()
	const size = 32 << 20
	b := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	after := weigh()
	runtime.KeepAlive(b)
	for name, grown := range map[string]float64{
		"resident": after.resident - before.resident, "rss": after.rss - before.rss,
		"pss": after.pss - before.pss, "heap": after.heap - before.heap,
	} {
		if grown < 30 || grown > 40 {
			t.Errorf("%s grew by %.1f MB, 32 were written", name, grown)
		}
	}
	if got := after.values(before, 4)[Each]; got < 30*1024/4 {
		t.Errorf("each of 4 connections has %.0f KB", got)
	}
}
