//go:build unix

package vault

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

// stage is a disk that says what is about to be done, and does it if it may.
type stage struct {
	next func(step string) error
}

func (s stage) do(step string, call func() error) error {
	if err := s.next(step); err != nil {
		return err
	}
	return call()
}

func (s stage) Create(path string) (h securedir.File, err error) {
	err = s.do("create "+filepath.Base(path), func() error {
		h, err = securedir.OS{}.Create(path)
		return err
	})
	return stagedFile{h, s}, err
}

func (s stage) Rename(from, to string) error {
	return s.do("rename to "+filepath.Base(to), func() error { return securedir.OS{}.Rename(from, to) })
}

func (s stage) SyncFolder(path string) error {
	return s.do("sync folder", func() error { return securedir.OS{}.SyncFolder(path) })
}

type stagedFile struct {
	securedir.File
	stage
}

// Write takes two steps, so that there is a time when half is written.
func (f stagedFile) Write(text []byte) (int, error) {
	half := len(text) / 2
	for _, part := range [][]byte{text[:half], text[half:]} {
		if err := f.do("write", func() error { _, err := f.File.Write(part); return err }); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

func (f stagedFile) Sync() error  { return f.do("sync", f.File.Sync) }
func (f stagedFile) Close() error { return errors.Join(f.next("close"), f.File.Close()) }

func openOn(dir string, d securedir.FileSystem) *Vault {
	v := Open(Config{Dir: dir, Keyring: absent})
	v.folder.FS = d
	return v
}

// What is on disk before a file gets its name, and what is after.
func TestOrderOfAWrite(t *testing.T) {
	var steps []string
	v := openOn(furnished(t), stage{func(step string) error {
		steps = append(steps, step)
		return nil
	}})
	mustStore(t, v, token, "x")
	want := []string{"create vault.json.new", "write", "write", "sync", "close", "rename to vault.json", "sync folder"}
	if !slices.Equal(steps, want) {
		t.Errorf("a write is\n%q; want\n%q", steps, want)
	}
}

func init() {
	helpers["crash"] = func(args []string) {
		left, _ := strconv.Atoi(args[1])
		v := openOn(args[0], stage{func(string) error {
			if left--; left < 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		}})
		if _, err := v.Store(context.Background(), token, secret.New("fresh")); err != nil {
			panic(err)
		}
	}
}

// A process is killed before each system call of a write, over a vault and over
// nothing. What is there afterwards is the old record or the new one.
func TestKilledBetweenSystemCalls(t *testing.T) {
	for name, folder := range map[string]func(testing.TB) string{
		"over a vault": furnished,
		"over nothing": func(t testing.TB) string { return filepath.Join(t.TempDir(), "above", "v") },
	} {
		t.Run(name, func(t *testing.T) {
			for step := 0; ; step++ {
				dir := folder(t)
				child := exec.Command(os.Args[0], dir, strconv.Itoa(step))
				child.Env = append(os.Environ(), helperEnv+"=crash")
				out, err := child.CombinedOutput()
				if err != nil && child.ProcessState.ExitCode() != -1 {
					t.Fatalf("step %d: %v\n%s", step, err, out)
				}
				survives(t, dir, name == "over a vault", err == nil)
				if err == nil {
					if step < 7 {
						t.Errorf("a write has %d steps", step)
					}
					return
				}
			}
		})
	}
}

// A system call fails in place of the process.
func TestFailedSystemCalls(t *testing.T) {
	for failing := 0; ; failing++ {
		dir, left := furnished(t), failing
		v := openOn(dir, stage{func(string) error {
			if left--; left == -1 {
				return syscall.EIO
			}
			return nil
		}})
		_, err := v.Store(t.Context(), token, secret.New("fresh"))
		if left >= 0 {
			if err != nil || failing < 7 {
				t.Errorf("a write has %d steps and ends with %v", failing, err)
			}
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("call %d fails: %v", failing, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, recordsFile+".new")); err == nil {
			t.Errorf("call %d fails: the remains are left", failing)
		}
		survives(t, dir, true, false)
	}
}

// survives checks a folder in which a Store of "fresh" was cut short.
func survives(t *testing.T, dir string, before, finished bool) {
	t.Helper()
	v := Open(Config{Dir: dir, Keyring: absent})
	r, found, err := v.Load(t.Context(), token)
	got := r.Value.Reveal()
	if err != nil || finished && got != "fresh" || before && !found || found && got != "fresh" && got != "one" {
		t.Fatalf("got %q, found %v, error %v", got, found, err)
	}
	if before {
		mustLoad(t, v, named("binding"), "two")
	}
	if g := mustStore(t, v, token, "next"); g <= r.Generation {
		t.Errorf("generation %d follows %d", g, r.Generation)
	}
	mustLoad(t, Open(Config{Dir: dir, Keyring: absent}), token, "next")
	onlyKnown(t, dir)
}

// onlyKnown fails if a write has left something behind.
func onlyKnown(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if n := f.Name(); n != recordsFile && n != keyFile && !strings.HasSuffix(n, ".lock") {
			t.Errorf("%s is left", n)
		}
	}
}
