package term

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// at is a program on a terminal of so many columns.
func at(columns int) *Terminal {
	return &Terminal{Err: &Console{Size: func() (int, int) { return columns, 24 }}, ErrTTY: true}
}

func TestQuoted(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		most       Excerpt
		want       string
	}{
		{"nothing", "\n\n", Excerpt{}, ""},
		{"lines", "one\n\n\n\n\ttwo\n\n", Excerpt{}, "│ one\n│\n│     two\n"},
		{"a long line", "a line of many words that goes on", Excerpt{}, "│ a line of many\n│ words that goes on\n"},
		{"a long word", "abcdefghijklmnopqrstuvwxyz", Excerpt{}, "│ abcdefghijklmnopqr\n│ stuvwxyz\n"},
		{"wide letters", "日本語日本語日本語日本語", Excerpt{}, "│ 日本語日本語日本語\n│ 日本語\n"},
		{"a mark at the end of a row", "abcdefghijklmnopqe\u0301f", Excerpt{}, "│ abcdefghijklmnopqe\u0301\n│ f\n"},
		{"too many bytes", strings.Repeat("é", 10), Excerpt{5, 0}, "│ éé\n  (16 bytes more)\n"},
		{"too many rows", "a\nb\nc\nd", Excerpt{0, 2}, "│ a\n│ b\n  (4 bytes more)\n"},
	} {
		if got := at(21).Quote(tt.text, tt.most, ""); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOurRowsGoOnIndented(t *testing.T) {
	if got, want := at(24).Own("%s asks you for a text", "a name that is long"), "a name that is long\n  asks you for a text\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever is quoted, and however wide the terminal is: each row has its bar, fits, and
// steers nothing.
func FuzzQuoted(f *testing.F) {
	f.Add("two\r\nlines\u2028e\u0301\u0302\u0303\u0304 日本", uint8(20), uint8(3))
	f.Add(strings.Repeat(" ", 90)+"│", uint8(80), uint8(0))
	f.Fuzz(func(t *testing.T, text string, columns, rows uint8) {
		a := at(max(int(columns), fewestColumns+1))
		out := strings.TrimSuffix(a.Quote(text, Excerpt{1 << 10, int(rows)}, "; the rest"), "\n")
		lines := strings.Split(out, "\n")
		if out == "" {
			lines = nil // there is nothing to be seen
		} else if last := lines[len(lines)-1]; strings.HasPrefix(last, "  (") && strings.HasSuffix(last, " more; the rest)") {
			lines = lines[:len(lines)-1]
		}
		for _, line := range lines {
			marks := len(line) - len(cleantext.Visible(line)) // a mark takes no column
			if !strings.HasPrefix(line, strings.TrimSpace(Bar)) || marks == 0 && plain.Width(line) > a.Columns() || strings.IndexFunc(line, cleantext.IsUnsafe) >= 0 {
				t.Errorf("%q in %d columns: %q", text, a.Columns(), line)
			}
		}
		if rows > 0 && len(lines) > int(rows) {
			t.Errorf("%d rows", len(lines))
		}
		if short := plain.Name(text, 10); plain.Width(short) > 10 || strings.ContainsAny(short, "\n\t") {
			t.Errorf("the name is %q", short)
		}
	})
}
