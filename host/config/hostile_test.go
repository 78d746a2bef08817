package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// The same file in the encodings that editors write.
func TestEncodings(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "ü𝄞"}}}`
	wide := func(big bool, mark string) string {
		out := []byte(mark)
		for _, u := range utf16.Encode([]rune(text)) {
			pair := []byte{byte(u), byte(u >> 8)}
			if big {
				pair[0], pair[1] = pair[1], pair[0]
			}
			out = append(out, pair...)
		}
		return string(out)
	}
	for name, tt := range map[string]struct{ data, wrong string }{
		"UTF-8":                     {text, ""},
		"with a mark":               {"\xef\xbb\xbf" + text, ""},
		"UTF-16, little":            {wide(false, "\xff\xfe"), ""},
		"UTF-16, big":               {wide(true, "\xfe\xff"), ""},
		"UTF-16 without a mark":     {wide(false, ""), "is in UTF-16 or UTF-32"},
		"UTF-16, cut":               {wide(false, "\xff\xfe") + "x", "ends in the middle of a character"},
		"Latin-1, on line 2":        {"{\n\"mcp\xfc", "mcp.json:2: is not UTF-8: byte 0xfc"},
		"a compressed file":         {"\x1f\x8b\x08\x00\x00", "is no text: it has a byte 0x00"},
		"nothing":                   {"", "it is empty"},
		"a mark and nothing":        {"\xef\xbb\xbf", "it is empty"},
		"UTF-16, a mark and nought": {"\xff\xfe", "it is empty"},
	} {
		file, err := Parse("mcp.json", []byte(tt.data))
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: %v, want %q", name, err, tt.wrong)
			}
		case err != nil || file.Servers[0].Command != "ü𝄞":
			t.Errorf("%s: %+v, %v", name, file, err)
		}
	}
}

// Files that would cost more than they are worth are refused, and quickly.
func TestFilesThatCostTooMuch(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%[1]c [%s]\n", c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	merges := "a: &a {x: 1}\n"
	for c := 'b'; c < 'z'; c++ {
		merges += fmt.Sprintf("%c: &%[1]c {<<: [%s], k: {<<: *%c}}\n", c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9), c-1)
	}
	var nested strings.Builder
	for i := range 1200 {
		nested.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for name, tt := range map[string]struct{ path, text, wrong string }{
		"aliases of aliases":   {"a.yaml", bomb, "its aliases stand for more than any configuration holds"},
		"merges of merges":     {"a.yaml", merges, "its aliases stand for more than any configuration holds"},
		"an alias of itself":   {"a.yaml", "a: &a [*a]", "stands for nothing, or for itself"},
		"an unknown alias":     {"a.yaml", "a: *b", "stands for nothing, or for itself"},
		"brackets":             {"a.yaml", "a: " + strings.Repeat("[", 500_000), "a.yaml:1: is not read: it nests too deeply"},
		"brackets in texts":    {"a.yaml", "a: " + strings.Repeat(`["]",`, 200_000), "more brackets than any configuration"},
		"brackets in comments": {"a.yaml", "a: " + strings.Repeat("[ # ]\n", 170_000), "more brackets than any configuration"},
		"braces in texts":      {"a.yaml", "a: " + strings.Repeat("{'}':\n", 170_000), "more brackets than any configuration"},
		"braces":               {"a.yaml", strings.Repeat("{a: ", 200_000), "it nests too deeply"},
		"lists on one line":    {"a.yaml", strings.Repeat("- ", 400_000), "it nests too deeply"},
		"keys on one line":     {"a.yaml", strings.Repeat("? ", 400_000), "it nests too deeply"},
		"indentation":          {"a.yaml", nested.String(), "a.yaml:"},
		"a key twice":          {"a.yaml", "a: 1\nb: 2\na: 3\n", `a.yaml:3: is not YAML: mapping key "a" already defined`},
		"two documents":        {"a.yaml", "a: 1\n---\nb: 2\n", "has more than one document"},
		"too large for YAML":   {"a.yaml", "#" + strings.Repeat("x", maxYAML), "is larger than 1 MiB"},
		"deep JSON":            {"a.json", strings.Repeat(`{"a":`, 100_000), "it nests too deeply"},
		"many tables of Codex": {"config.toml", "x = " + strings.Repeat("{a = ", 20_000), "nests deeper"},
	} {
		begun := time.Now()
		_, err := Parse(tt.path, []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %.300v, want %q", name, err, tt.wrong)
		}
		if took := time.Since(begun); took > 20*time.Second { // the bound is that it ends at all
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// A file of 100 MB is not read to its end, a folder is named as one, and a link is
// followed: the user named it.
func TestReadOddFiles(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.json")
	f, err := os.Create(huge)
	if err == nil {
		err = f.Truncate(100 << 20)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(huge); err == nil || !strings.Contains(err.Error(), "is larger than 64 MiB; is it a configuration?") {
		t.Errorf("of a huge file: %v", err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "is a folder; name a file in it") {
		t.Errorf("of a folder: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(real, []byte(`{"mcpServers": {"a": {"command": "x"}}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if file, err := Read(link); err != nil || len(file.Servers) != 1 {
		t.Errorf("of a link: %+v, %v", file, err)
	}
	if err := os.Symlink(link+".loop", link+".loop"); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(link + ".loop"); err == nil {
		t.Error("a link to itself was read")
	}
}

// Two names that a person would take for one are told of.
func TestNamesThatDifferInCaseOnly(t *testing.T) {
	file, err := Parse("mcp.json", []byte(`{"mcpServers": {"files": {"command": "a"}, "Files": {"command": "b"}, "Fi les": {"command": "c"}, "fi(les": {"command": "d"}, "***": {"command": "e"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := listed(file.Servers); got != "files Files Fi-les fi-les" {
		t.Errorf("servers %s", got)
	}
	said := strings.Join(append(file.Warnings, file.Notes...), "\n")
	for _, want := range []string{
		"server Files: differs from the server files in the case of its letters only", "server Fi les: is called Fi-les here",
		"server fi(les: differs from the server Fi-les", `server ***: "***" is no name`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("says %q, want %q", said, want)
		}
	}
}
