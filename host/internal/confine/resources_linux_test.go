package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// modeEnv makes the test binary a process that goes beyond a limit.
const modeEnv = "WHARF_BRIG_TEST_MODE"

func TestMain(m *testing.M) {
	if burst := bursts[os.Getenv(modeEnv)]; burst != nil {
		if err := burst(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var spin atomic.Int64

// usual are limits that leave a test binary enough.
var usual = Limits{CPU: 60, Memory: 1 << 30, File: 64 << 20, Open: 64}

var bursts = map[string]func() error{
	"memory": func() error {
		if err := Resources(usual); err != nil {
			return err
		}
		taken := make([][]byte, 0, 64)
		for range cap(taken) {
			taken = append(taken, make([]byte, 64<<20))
		}
		fmt.Print("took ", len(taken))
		return nil
	},
	"time": func() error {
		if err := Resources(Limits{CPU: 1}); err != nil {
			return err
		}
		for {
			spin.Add(1)
		}
	},
	"little": func() error {
		if err := Resources(usual); err != nil {
			return err
		}
		fmt.Print("took ", len(make([]byte, 64<<20))>>20)
		return nil
	},
	"file": func() error {
		f, err := os.CreateTemp("", "brig")
		if err != nil {
			return err
		}
		os.Remove(f.Name())
		if err := Resources(Limits{}); err != nil {
			return err
		}
		_, err = f.WriteString("more than nothing")
		return err
	},
	"descriptors": func() error {
		if err := Resources(Limits{Open: 16}); err != nil {
			return err
		}
		for range 17 {
			if _, err := os.Open(os.DevNull); err != nil {
				return err
			}
		}
		return nil
	},
	"inherited": func() error {
		if err := Resources(usual); err != nil {
			return err
		}
		_, err := os.NewFile(3, "inherited").Stat()
		return err
	},
	"sealed": func() error {
		if err := Syscalls(); err != nil {
			fmt.Print("no seal here")
			return err
		}
		return attempts()
	},
}

// attempts tries what a seal takes, and some of what it leaves.
func attempts() error {
	for what, try := range map[string]func() error{
		"a file":     func() error { _, err := os.Open("/etc/hostname"); return err },
		"a new file": func() error { return os.WriteFile("/tmp/brig-seal", nil, 0o600) },
		"a folder":   func() error { return os.Mkdir("/tmp/brig-seal", 0o700) },
		"a socket":   func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return err },
		"a program":  func() error { return exec.Command("/bin/true").Run() },
		"a new self": func() error { return syscall.Exec("/bin/true", []string{"true"}, nil) },
		"a signal":   func() error { return syscall.Kill(os.Getppid(), 0) },
		"a process": func() error {
			_, _, e := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
			return e
		},
		"another one": func() error {
			_, _, e := syscall.RawSyscall(syscall.SYS_PTRACE, 16, uintptr(os.Getppid()), 0)
			return e
		},
	} {
		if err := try(); !errors.Is(err, syscall.EPERM) {
			return fmt.Errorf("%s: %v", what, err)
		}
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			_ = make([]byte, 1<<20)
			runtime.GC()
		})
	}
	all.Wait()
	fmt.Print("all is taken")
	return nil
}

func TestLimits(t *testing.T) {
	// The runtime and the race detector name the end of memory differently, and the
	// runtime has several words for it.
	for how, says := range map[string]string{
		"memory": "alloc", "time": "killed", "little": "took 64",
		"file": "file too large", "descriptors": "too many open files", "inherited": "bad file descriptor", "sealed": "all is taken",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.ExtraFiles = []*os.File{os.Stdin}
			cmd.Env = append(os.Environ(), modeEnv+"="+how)
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "no seal here") {
				t.Skip("this system has no seal")
			}
			good := how == "little" || how == "sealed"
			if got := strings.ToLower(fmt.Sprint(string(out), err)); !strings.Contains(got, says) || (err == nil) != good {
				t.Errorf("%.900s; want %q", got, says)
			}
		})
	}
}
