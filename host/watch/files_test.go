package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Parallel(9)
	goleak.VerifyTestMain(m)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	must(t, os.Symlink(target, path))
}

// Each change is one that editors and people make. dir is a folder that holds the
// file wharf.toml, which is followed by that path.
func TestChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(t *testing.T, dir string)
		change func(t *testing.T, dir string)
	}{
		"a write": {nil, func(t *testing.T, dir string) { write(t, dir+"/wharf.toml", "another text") }},
		"a rename over it": {nil, func(t *testing.T, dir string) {
			write(t, dir+"/.wharf.toml.swp", "text")
			must(t, os.Rename(dir+"/.wharf.toml.swp", dir+"/wharf.toml"))
		}},
		"it goes away": {nil, func(t *testing.T, dir string) { must(t, os.Remove(dir+"/wharf.toml")) }},
		"it appears":   {func(t *testing.T, dir string) { must(t, os.Remove(dir+"/wharf.toml")) }, func(t *testing.T, dir string) { write(t, dir+"/wharf.toml", "text") }},
		"the folder is replaced": {nil, func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Mkdir(dir, 0o700))
			write(t, dir+"/wharf.toml", "another text")
		}},
		"the folder appears": {func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700))
			write(t, dir+"/wharf.toml", "text")
		}},
		"behind a link": {func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir+"/dotfiles", 0o700))
			must(t, os.Rename(dir+"/wharf.toml", dir+"/dotfiles/wharf"))
			link(t, "dotfiles/wharf", dir+"/wharf.toml")
		}, func(t *testing.T, dir string) { write(t, dir+"/dotfiles/wharf", "another text") }},
		"the link leads elsewhere": {func(t *testing.T, dir string) {
			must(t, os.Rename(dir+"/wharf.toml", dir+"/one"))
			write(t, dir+"/two", "text")
			link(t, "one", dir+"/wharf.toml")
		}, func(t *testing.T, dir string) {
			link(t, "two", dir+"/three")
			must(t, os.Rename(dir+"/three", dir+"/wharf.toml"))
		}},
		"a folder on the way is a link": {func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+".one"))
			must(t, os.Mkdir(dir+".two", 0o700))
			write(t, dir+".two/wharf.toml", "another text")
			link(t, dir+".one", dir)
		}, func(t *testing.T, dir string) {
			link(t, dir+".two", dir+".new")
			must(t, os.Rename(dir+".new", dir))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "wharf")
			must(t, os.Mkdir(dir, 0o700))
			path := filepath.Join(dir, "wharf.toml")
			write(t, path, "text")
			if tt.before != nil {
				tt.before(t, dir)
			}
			files, err := Follow(path)
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			tt.change(t, dir)
			if got, err := files.Next(t.Context()); err != nil || !slices.Equal(got, []string{path}) {
				t.Errorf("%q, %v", got, err)
			}
			if _, err := os.Stat(path); err != nil {
				return
			}
			write(t, path, "and once more, wherever it is now")
			if got, err := files.Next(t.Context()); err != nil || !slices.Equal(got, []string{path}) {
				t.Errorf("then: %q, %v", got, err)
			}
		})
	}
}

// script is a kernel that a test speaks for.
type script struct {
	events chan fsnotify.Event
	lost   chan error
}

func (script) Add(string) error    { return nil }
func (script) Remove(string) error { return nil }
func (script) Close() error        { return nil }

func followScript(t *testing.T, paths ...string) (*Files, script) {
	t.Helper()
	s := script{make(chan fsnotify.Event), make(chan error)}
	f, err := start(s, s.events, s.lost, paths)
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

// Many writes are one change, reported when they are over; a file that is written
// to without end is reported all the same.
func TestQuiet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	synctest.Test(t, func(t *testing.T) {
		f, s := followScript(t, path)
		defer f.Close()
		began := time.Now()
		for range 5 {
			time.Sleep(settle / 2) // of the bubble's clock
			s.events <- fsnotify.Event{Name: path}
		}
		write(t, path, "text")
		if _, err := f.Next(t.Context()); err != nil || time.Since(began) != settle/2*5+settle {
			t.Errorf("after %v: %v", time.Since(began), err)
		}

		began = time.Now()
		write(t, path, "longer text")
		stop := make(chan struct{})
		go func() {
			tick := time.NewTicker(settle / 2)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
				case <-stop:
					return
				}
				select {
				case s.events <- fsnotify.Event{Name: path}:
				case <-stop: // the kernel is not heard once the files are closed
					return
				}
			}
		}()
		if _, err := f.Next(t.Context()); err != nil || time.Since(began) != settle/2+longest {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(stop)
	})
}

// What is about other files, or changes nothing, is no news. What the kernel lost
// may have been.
func TestNoNews(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	write(t, path, "text")
	synctest.Test(t, func(t *testing.T) {
		f, s := followScript(t, path)
		defer f.Close()
		short, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		write(t, path+"b", "text")
		s.events <- fsnotify.Event{Name: path + "b"}
		s.events <- fsnotify.Event{Name: path, Op: fsnotify.Chmod}
		if got, err := f.Next(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q, %v", got, err)
		}
		write(t, path, "another text")
		s.lost <- fsnotify.ErrEventOverflow
		if got, err := f.Next(t.Context()); err != nil || len(got) != 1 {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestSet(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	f, err := Follow(one)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	must(t, f.Set(two))
	write(t, one, "text")
	write(t, two, "text")
	if got, err := f.Next(t.Context()); err != nil || !slices.Equal(got, []string{two}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestClose(t *testing.T) {
	f, err := Follow(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := f.Next(t.Context())
		done <- err
	}()
	must(t, f.Close())
	must(t, f.Close())
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := f.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestLinksInACircle(t *testing.T) {
	dir := t.TempDir()
	link(t, "b", filepath.Join(dir, "a"))
	link(t, "a", filepath.Join(dir, "b"))
	if p := find(filepath.Join(dir, "a", "c")); p.info != nil || len(p.names) == 0 {
		t.Errorf("%+v", p)
	}
}
