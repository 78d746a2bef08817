package plugin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.wasm")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadChecksTheHashOfWhatItReturns(t *testing.T) {
	path := write(t, []byte("wasm"))
	want := Hash([]byte("wasm"))

	for _, sum := range []string{"", want, strings.ToUpper(want)} {
		data, err := File{Name: "pigeon", Path: path, SHA256: sum}.Read()
		if err != nil || string(data) != "wasm" {
			t.Errorf("sha256 %q: %q, %v", sum, data, err)
		}
	}

	wrong := strings.Repeat("0", 64)
	_, err := File{Name: "pigeon", Path: path, SHA256: wrong}.Read()
	var hash *HashError
	if !errors.As(err, &hash) || hash.Got != want || hash.Want != wrong {
		t.Errorf("altered hash: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	big := write(t, nil)
	if err := os.Truncate(big, MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := (File{Name: "../evil", Path: big}).Read(); err == nil {
		t.Error("a path as a name was accepted")
	}
	for name, path := range map[string]string{
		"no such file": filepath.Join(t.TempDir(), "none"),
		"a huge file":  big,
		"a folder":     t.TempDir(),
	} {
		if _, err := (File{Name: "pigeon", Path: path}).Read(); !errors.As(err, new(*fs.PathError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
