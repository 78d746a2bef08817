package tomledit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestWriteANewFile(t *testing.T) {
	f := open(t, filepath.Join(t.TempDir(), "wharf", "wharf.toml"))
	text, err := AddTables(f.Text, short)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if len(f.Read.Servers) != 1 || f.Read.Servers[0].Command != "npx" {
		t.Errorf("%+v", f.Read)
	}
	if again := open(t, f.Path); string(again.Text) != shortText {
		t.Errorf("%q", again.Text)
	}
	info, err := os.Stat(f.Path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A link stays a link, and what it leads to keeps its mode.
func TestWriteThroughALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes are those of unix")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.toml"), filepath.Join(dir, "wharf.toml")
	write(t, target, "# c\n")
	if err := os.Symlink("target.toml", link); err != nil {
		t.Fatal(err)
	}
	if err := open(t, link).Write(t.Context(), []byte(shortText)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(target)
	if string(text) != shortText || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if to, err := os.Readlink(link); to != "target.toml" || err != nil {
		t.Errorf("%q, %v", to, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A link to a file that is not there, as where a disk is not mounted, is not replaced by a file.
func TestWriteThroughALinkToNothing(t *testing.T) {
	link := filepath.Join(t.TempDir(), "wharf.toml")
	if err := os.Symlink("gone.toml", link); err != nil {
		t.Skip(err)
	}
	f, err := Open(link)
	if err != nil {
		t.Fatal(err)
	}
	if err = f.Write(t.Context(), []byte("[servers.a]\ncommand = \"a\"\n")); err == nil || !strings.Contains(err.Error(), "is a link to gone.toml, which is not there; make that file, or remove the link") {
		t.Error(err)
	}
	if to, err := os.Readlink(link); to != "gone.toml" {
		t.Error(to, err)
	}
}

func TestRefusedWrites(t *testing.T) {
	for name, tc := range map[string]struct {
		meanwhile func(path string) error
		text      string
		says      string
	}{
		"edited meanwhile":  {func(path string) error { return os.WriteFile(path, []byte("# other\n"), 0o600) }, shortText, "changed meanwhile"},
		"removed meanwhile": {os.Remove, shortText, "changed meanwhile"},
		"read-only":         {func(path string) error { return nil }, shortText, "is read-only"},
		"a mistake":         {func(path string) error { return nil }, "[servers.a]\ncomand = 'x'\n", "there is no such key"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "wharf.toml")
			write(t, path, "# mine\n")
			if name == "read-only" {
				if err := os.Chmod(path, 0o444); err != nil {
					t.Fatal(err)
				}
			}
			f := open(t, path)
			if err := tc.meanwhile(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			err := f.Write(t.Context(), []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v; want one that says %q", err, tc.says)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Errorf("the file became %q", after)
			}
		})
	}
}

func TestRefusedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, says := range map[string]string{
		"mcp.json": "is JSON", "goose.yaml": "is YAML", "goose.yml": "is YAML", "folder.toml": "is not a file", "wrong.toml": "there is no such key", "huge.toml": "is larger than 64 MiB",
		"twice.toml": "is not TOML", "llm.mcpServers.xml": "is XML, as other clients have it, and is only read; name a wharf.toml, into which import copies",
		"codex.toml": "codex.toml is a file of Codex, and is only read; name a wharf.toml, ",
	} {
		path := filepath.Join(dir, name)
		write(t, path, "serves = 1\n")
		switch name {
		case "folder.toml":
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		case "huge.toml":
			if err := os.Truncate(path, 100<<20); err != nil {
				t.Fatal(err)
			}
		case "codex.toml":
			write(t, path, "[mcp_servers.a]\ncommand = 'x'\n")
		case "twice.toml":
			write(t, path, "[servers.a]\ncommand = 'x'\n[servers.a]\ncommand = 'y'\n")
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want one that says %q", name, err, says)
		}
	}
}

// Of those that read the same text, one writes, and the others are told.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wharf.toml")
	write(t, path, "# mine\n")
	var wg sync.WaitGroup
	results := make(chan error, 8)
	files := make([]*File, cap(results))
	for i := range files {
		files[i] = open(t, path) // all before the first is written
	}
	for i, f := range files {
		text, err := AddTables(f.Text, table(string(rune('a'+i)), Key{"command", "x"}))
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { results <- f.Write(t.Context(), text) })
	}
	wg.Wait()
	close(results)
	written := 0
	for err := range results {
		if err == nil {
			written++
		} else if !errors.Is(err, ErrChanged) {
			t.Error(err)
		}
	}
	if f := open(t, path); written != 1 || len(f.Read.Servers) != 1 {
		t.Errorf("%d wrote, and %d servers are there", written, len(f.Read.Servers))
	}
}

// All that rewrite at once are in the file, whatever of it they have read before.
func TestManyRewriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wharf.toml")
	write(t, path, "# mine\n")
	var wg sync.WaitGroup
	for i := range 8 {
		f := open(t, path)
		wg.Go(func() {
			err := f.Rewrite(t.Context(), func() ([]byte, error) {
				return AddTables(f.Text, table(string(rune('a'+i)), Key{"command", "x"}))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f := open(t, path); len(f.Read.Servers) != 8 {
		t.Errorf("%d servers are there", len(f.Read.Servers))
	}
}

// What an editor, which takes no lock, writes meanwhile is not lost: a change is made again, and a text that was shown
// is not written.
func TestEditorsWriteMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wharf.toml")
	write(t, path, "# mine\n")
	f, edits := open(t, path), 0
	change := func() ([]byte, error) {
		text, err := AddTables(f.Text, table("a", Key{"command", "x"}))
		if edits++; edits == 1 {
			write(t, path, "# edited\n")
		}
		return text, err
	}
	if err := f.Rewrite(t.Context(), change); err != nil || !strings.HasPrefix(string(f.Text), "# edited\n") || len(open(t, path).Read.Servers) != 1 {
		t.Errorf("%v: %s", err, f.Text)
	}
	always := func() ([]byte, error) {
		edits++
		write(t, path, fmt.Sprintf("# edit %d\n", edits))
		return []byte("# of wharf\n"), nil
	}
	if err := f.Rewrite(t.Context(), always); !errors.Is(err, ErrChanged) || edits != 2+maxRewrites {
		t.Errorf("without an end: %v, %d edits", err, edits)
	}
}

// A file that is named without its folder is written in the current one.
func TestWriteByName(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, before := range []bool{false, true} {
		f := open(t, "wharf.toml")
		text, err := AddTables(f.Text, table(fmt.Sprint("before-", before), Key{"command", "x"}))
		if err == nil {
			err = f.Write(t.Context(), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if f := open(t, "wharf.toml"); len(f.Read.Servers) != 2 {
		t.Errorf("%s", f.Text)
	}
}
