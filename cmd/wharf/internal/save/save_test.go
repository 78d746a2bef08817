package save

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// TestNames: whatever a server calls what it sends, a name of a file in the folder comes
// of it.
func TestNames(t *testing.T) {
	for _, c := range []struct{ name, kind, want string }{
		{"image", "image/png", "image.png"},
		{"demo://a/b/picture.jpeg?x=1", "", "picture.jpeg"},
		{"demo://a/b/picture", "image/png; q=1", "picture.png"},
		{"file:///a/My%20Report.pdf", "", "My-Report.pdf"},
		{"file:///a/..%2f..%2Fetc%2fpasswd", "", "passwd.bin"},
		{"file:///a/%2e%2e", "", "file.bin"},
		{"file:///a/100%", "", "100.bin"},
		{"a%20b.png", "", "a-20b.png"},
		{"../../etc/passwd", "", "passwd.bin"},
		{`..\..\boot.ini`, "", "boot.ini"},
		{"..", "", "file.bin"},
		{"/", "", "file.bin"},
		{"", "", "file.bin"},
		{".bashrc", "text/plain", "file.txt"},
		{"a b\x00c\u202e.png", "", "a-b-c.png"},
		{"CON", "image/png", "file-CON.png"},
		{"lpt1.x", "", "file-lpt1.x"},
		{strings.Repeat("x", 300), "", strings.Repeat("x", longestName) + ".bin"},
		{"a." + strings.Repeat("e", 30), "", "a.bin"},
		{"-rf", "", "rf.bin"},
	} {
		if base, extension := fileName(c.name, c.kind); base+extension != c.want {
			t.Errorf("%q, %q: %q, want %q", c.name, c.kind, base+extension, c.want)
		}
	}
}

// TestSave replaces nothing, and leaves nothing of what cannot be decoded.
func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	f := &Folder{dir}
	data := base64.StdEncoding.EncodeToString([]byte("hello"))
	for _, want := range []string{"a.png", "a-2.png", "a-3.png"} {
		path, err := f.Save("a", "image/png", data)
		if err != nil || path != filepath.Join(dir, want) {
			t.Fatalf("%s, %v, want %s", path, err, want)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "hello" {
			t.Errorf("%q, %v", text, err)
		}
	}
	for _, wrong := range []string{data[:6] + "!", data[:6]} {
		_, err := f.Save("file:///b?c", "", wrong)
		if err == nil || !strings.Contains(err.Error(), "save file:///b?c to "+dir+": the server's data are no base64") || exit.KindOf(t.Context(), err).Code != exit.CodeServer {
			t.Errorf("no base64: %v", err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if want := []string{"a-2.png", "a-3.png", "a.png"}; !slices.Equal(names, want) {
		t.Errorf("there are %q, want %q", names, want)
	}
}

// TestSaveFollowsNoLink: a link in the folder is a name that is taken.
func TestSaveFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Symlink(outside, filepath.Join(dir, "a.bin")); err != nil {
		t.Skip(err)
	}
	path, err := (&Folder{dir}).Save("a", "", "aGk=")
	if err != nil || filepath.Base(path) != "a-2.bin" {
		t.Errorf("%s, %v", path, err)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("the link was followed")
	}
}

// TestCheck looks before anything is saved, and makes nothing.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{dir: true, filepath.Join(dir, "a", "b"): true, taken: false, filepath.Join(taken, "a", "b"): false}
	if runtime.GOOS == "linux" {
		astray := filepath.Join(t.TempDir(), "astray")
		if err := os.Symlink("nowhere", astray); err != nil {
			t.Fatal(err)
		}
		paths[astray], paths[filepath.Join(astray, "a")] = false, false
		paths["/proc/a/b"] = false // where root makes nothing either
	}
	for path, fine := range paths {
		if err := (&Folder{path}).Check(); (err == nil) != fine {
			t.Errorf("%s: %v", path, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestSaveIntoAFile says which folder it is about.
func TestSaveIntoAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "taken")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Folder{path}).Save("a", "", "aGk="); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}
