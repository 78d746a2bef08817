package plain

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"files": "files", "0123456789": "0123456789", "01234567890": "012345678…", "日本語日本語": "日本語日…",
		"e\u0301": `e\u0301`, "a\nb": `a\nb`, strings.Repeat("x", 1000): "xxxxxxxxx…",
	} {
		if got := Name(text, 10); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestCells: a cell begins as the line does, and says where it was cut.
func TestCells(t *testing.T) {
	at := strings.Repeat("é", cellBytes/2)
	for text, want := range map[string]string{at: at, at + "é": at + "…", "a\n b": "a b", "x" + at: "x" + strings.TrimSuffix(at, "é") + "…"} {
		if got := Cell(text); got != want {
			t.Errorf("%.10q, %d bytes: got %d bytes ending in %q", text, len(text), len(got), got[len(got)-5:])
		}
	}
	for text, want := range map[string]string{"": "", "日本": "日本", "日本語": "日…", "\xff\xff\xff": "\xff…"} {
		if got := Clip(text, 2); got != want {
			t.Errorf("clip(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestTargetsShowNoSecrets(t *testing.T) {
	tests := []struct {
		argv []string
		want string
	}{
		{[]string{"npx", "-y", "server", "/a b"}, `npx -y server "/a b"`},
		{[]string{"x", "--token", "s3cret", "rest"}, "x --token *** rest"},
		{[]string{"x", "--api-key=s3cret"}, "x --api-key=***"},
		{[]string{"x", "--header", "Authorization: Bearer s3cret", "pg://u:s3cret@h"}, `x --header "Authorization: ***" pg://u:***@h`},
		{[]string{"x", "API_KEY=s3cret"}, "x API_KEY=***"},
		{[]string{"x", "--token", "--verbose"}, "x --token --verbose"},
		{[]string{"x", "--token", "${TOKEN}"}, "x --token ${TOKEN}"},
		{[]string{"x", "--token", "${TOKEN:-s3cret}"}, "x --token ***"},
	}
	for _, tt := range tests {
		if got := commandLine(tt.argv[0], tt.argv[1:]); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.argv, got, tt.want)
		}
	}
	for url, want := range map[string]string{
		"https://x.example/mcp":             "https://x.example/mcp",
		"https://u:s3cret@x.example/mcp":    "https://u:***@x.example/mcp",
		"https://x.example/mcp?key=s3cret":  "https://x.example/mcp?key=***",
		"https://x.example?a=${A}&b=s3cret": "https://x.example?a=${A}&b=***",
		"https://${HOST}/mcp":               "https://${HOST}/mcp",
	} {
		if got := withoutSecrets(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}
