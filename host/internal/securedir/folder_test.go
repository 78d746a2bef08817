//go:build unix

package securedir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The rest of what is promised here, crashes between system calls above all, is
// held by the tests of the vault.

func TestWriteAndRead(t *testing.T) {
	f := In(filepath.Join(t.TempDir(), "above", "mine"))
	if _, err := f.Read("x", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := f.Claim(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := f.Write("x", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Read("x", 10); string(got) != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := f.Read("x", 2); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Error(err)
	}
	for path, want := range map[string]fs.FileMode{f.Dir: folderMode, f.Path("x"): fileMode} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

func TestWhatIsNotPrivate(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(f *Folder) error
		says string
	}{
		"a file for the group":  {func(f *Folder) error { return os.Chmod(f.Path("x"), 0o640) }, "chmod 600"},
		"a folder for all":      {func(f *Folder) error { return os.Chmod(f.Dir, 0o755) }, "chmod 700"},
		"a folder of all users": {func(f *Folder) error { return os.Chmod(f.Dir, 0o777|fs.ModeSticky) }, "use one of your own"},
		"a link to a file": {func(f *Folder) error {
			return errors.Join(os.Rename(f.Path("x"), f.Path("y")), os.Symlink("y", f.Path("x")))
		}, "links are refused"},
		"a link to a folder":     {func(f *Folder) error { return errors.Join(os.Rename(f.Dir, f.Dir+"2"), os.Symlink(f.Dir+"2", f.Dir)) }, "links are refused"},
		"a folder for a file":    {func(f *Folder) error { return errors.Join(os.Remove(f.Path("x")), os.Mkdir(f.Path("x"), 0o700)) }, "not a regular file"},
		"a link where one locks": {func(f *Folder) error { return os.Symlink("/dev/null", f.Path("lock")) }, ""},
	} {
		f := In(filepath.Join(t.TempDir(), "mine"))
		if err := errors.Join(f.Claim(), f.Write("x", []byte("text")), tc.do(f)); err != nil {
			t.Fatal(err)
		}
		if tc.says == "" {
			if err := f.Flock("lock").Lock(); err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if _, err := f.Read("x", 10); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v; want one that says %q", name, err, tc.says)
		}
	}
}
