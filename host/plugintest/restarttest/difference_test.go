package restarttest

import (
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	long := strings.Repeat("Grüße, 世界 ", 1000)
	cut := strings.Index(long, "世") + 1 // in the middle of a letter
	for _, c := range []struct{ want, got, says string }{
		{"ahoy", "", `4 bytes were expected and 0 came; they differ from byte 0 on: expected "ahoy", got the end`},
		{"ahoy", "ahoy!", `they differ from byte 4 on: expected the end, got "ahoy!"`},
		{"Echo: a", "echo: a", `from byte 0 on: expected "Echo: a", got "echo: a"`},
		{long, long[:cut] + "\uFFFD" + long[cut:], `16000 bytes were expected and 16003 came; they differ from byte 10 on: expected "Gr`},
	} {
		if got := difference(c.want, c.got); !strings.Contains(got, c.says) || len(got) > 400 {
			t.Errorf("it says %s, want %s", got, c.says)
		}
	}
}
