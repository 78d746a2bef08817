//go:build unix

package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// signalVariable names a pipe that a worker which does not end holds open.
const signalVariable = "WHARF_TEST_SIGNAL"

func init() {
	servers["worker"] = func() {
		if err := host.RunWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	servers["worker-forever"] = func() {
		if held, err := os.OpenFile(os.Getenv(signalVariable), os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(held, "begun")
		}
		select {}
	}
	servers["worker-dies"] = func() {
		fmt.Fprintln(os.Stderr, "fatal error: out of memory")
		os.Exit(2)
	}
	// It says RETURN and COMPILED, whatever it is asked, and has done nothing.
	servers["worker-lies"] = func() {
		head := make([]byte, 5)
		io.ReadFull(os.Stdin, head)
		if answer := []byte{0, 0, 0, 0, 13}; head[4] == 12 {
			os.Stdout.Write(answer)
		} else {
			os.Stdout.Write(append([]byte{16, 0, 0, 0, 9}, make([]byte, 16)...))
			os.Stdout.Write(append([]byte{16, 0, 0, 0, 9}, make([]byte, 16)...))
		}
		io.Copy(io.Discard, os.Stdin)
	}
}

// workerThat is the command that makes a worker of this binary, of a kind.
func workerThat(t *testing.T, how string, vars ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append(append([]string{"/usr/bin/env", serverVariable + "=" + how}, vars...), self)
}

// watched returns what is closed when a worker-forever has begun and when it is
// gone, and the variable that it wants.
func watched(t *testing.T) (begun, gone <-chan struct{}, variable string) {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(pipe, os.O_RDWR, 0) // which waits for no writer
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		in := bufio.NewReader(held)
		_, _ = in.ReadString('\n')
		close(started)
		alone, err := os.OpenFile(pipe, os.O_RDONLY, 0)
		held.Close()
		if err == nil {
			_, _ = io.Copy(io.Discard, alone) // until its last holder is gone
			alone.Close()
		}
	}()
	t.Cleanup(func() {
		held.Close()
		<-ended
	})
	return started, ended, signalVariable + "=" + pipe
}

// pluginFileEntry is an entry whose transport is a plugin from a file, and the file.
func pluginFileEntry(t *testing.T) (entry host.Server, files map[string]config.Plugin) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pigeon.wasm")
	copyFile(t, file, cSocket)
	return host.Server{Name: "loft", Transport: "pigeon", Address: listen(t, "unix")},
		map[string]config.Plugin{"pigeon": {Name: "pigeon", File: file}}
}

// A plugin from a file is compiled in a worker, into a folder for it alone. What is
// there needs no worker the next time, and one that breaks is made anew.
func TestForeignPluginIsCompiledInAWorker(t *testing.T) {
	entry, files := pluginFileEntry(t)
	cache := filepath.Join(t.TempDir(), "cache")
	connected := func(worker []string) error {
		h := newHost(t, host.Config{Files: files, CacheDir: cache, Worker: worker})
		defer h.Close()
		s, err := h.Connect(t.Context(), entry)
		if err == nil {
			say(t, s)
		}
		return err
	}
	if err := connected(workerThat(t, "worker")); err != nil {
		t.Fatal(err)
	}
	hash := hashOf(t, files["pigeon"].File)
	native, _ := filepath.Glob(filepath.Join(cache, "apart", hash, "native", "*", "*"))
	if shared, _ := filepath.Glob(filepath.Join(cache, "native", "*", "*")); len(native) != 1 || len(shared) > 0 {
		t.Fatalf("native code is in %v and %v", native, shared)
	}
	dies := workerThat(t, "worker-dies")
	if err := connected(dies); err != nil {
		t.Errorf("what was compiled is not used: %v", err)
	}
	putFile(t, native[0], []byte("garbage"))
	err := connected(dies)
	if !errors.Is(err, host.ErrPluginRefused) || !strings.Contains(err.Error(), "connect loft: plugin pigeon: compile: its worker process ended with exit code 2 (it said: fatal error: out of memory)") ||
		!strings.Contains(host.Hint(err), "another version") {
		t.Errorf("says %v (%s)", err, host.Hint(err))
	}
	if err := connected(workerThat(t, "worker")); err != nil {
		t.Errorf("what was broken is not made anew: %v", err)
	}
}

// A caller that leaves, and a host that ends, end the compilation, and its process.
func TestCompilingIsCalledOff(t *testing.T) {
	for name, end := range map[string]func(h *host.Host, leave func()){
		"the caller leaves": func(_ *host.Host, leave func()) { leave() },
		"the host ends":     func(h *host.Host, _ func()) { h.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			entry, files := pluginFileEntry(t)
			begun, gone, variable := watched(t)
			h := newHost(t, host.Config{Files: files, CacheDir: t.TempDir(), Worker: workerThat(t, "worker-forever", variable)})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			over := make(chan error)
			go func() {
				_, err := h.Connect(ctx, entry)
				over <- err
			}()
			<-begun
			end(h, leave)
			if err := <-over; !errors.Is(err, context.Canceled) && !errors.Is(err, host.ErrClosed) {
				t.Errorf("connecting ended with %v", err)
			}
			<-gone
		})
	}
}

// A worker that takes too long, dies or lies costs its own plugin, and says what to
// do; the plugin beside it is used.
func TestWorkersThatFail(t *testing.T) {
	for how, want := range map[string]struct {
		says  string
		kind  error
		limit time.Duration
	}{
		"worker-forever": {"it was not compiled within 100ms", host.ErrTimeout, 100 * time.Millisecond},
		"worker-dies":    {"ended with exit code 2", host.ErrPluginRefused, time.Minute},
		"worker-lies":    {"left nothing that can be used", host.ErrPluginRefused, time.Minute},
	} {
		t.Run(how, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			entry, files := pluginFileEntry(t)
			h := newHost(t, host.Config{Files: files, CacheDir: t.TempDir(), Worker: workerThat(t, how), CompileTimeout: want.limit})
			_, err := h.Connect(t.Context(), entry)
			if !errors.Is(err, want.kind) || !strings.Contains(err.Error(), "plugin pigeon: compile: ") || !strings.Contains(err.Error(), want.says) || host.Hint(err) == "" {
				t.Errorf("says %v", err)
			}
			say(t, connect(t, h, server("modern")))
			h.Close()
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// Without a folder for it, what is compiled is in one that ends with the host.
func TestForeignPluginWithoutACache(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	entry, files := pluginFileEntry(t)
	h, err := host.New(t.Context(), host.Config{Files: files, Worker: workerThat(t, "worker")})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		say(t, connect(t, h, entry))
	}
	made, _ := filepath.Glob(filepath.Join(os.TempDir(), "wharf-plugins-*"))
	if len(made) != 1 {
		t.Fatalf("made %v", made)
	}
	if info, err := os.Stat(made[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	h.Close()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
