package store

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

var spin atomic.Int64

// burst goes beyond a limit.
func burst(args []string) error {
	switch args[0] {
	case "memory":
		if err := Confine(); err != nil {
			return err
		}
		taken := make([][]byte, 0, 64)
		for range cap(taken) {
			taken = append(taken, make([]byte, 64<<20))
		}
		fmt.Print("took ", len(taken))
	case "time":
		if err := limit(syscall.RLIMIT_CPU, 1); err != nil {
			return err
		}
		for {
			spin.Add(1)
		}
	case "little":
		if err := Confine(); err != nil {
			return err
		}
		fmt.Print("took ", len(make([]byte, 64<<20))>>20)
	}
	return nil
}

func TestConfine(t *testing.T) {
	// The runtime and the race detector name the end of memory differently.
	for how, says := range map[string]string{"memory": "allocat", "time": "killed", "little": "took 64"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], how)
			cmd.Env = append(os.Environ(), modeEnv+"=confine")
			out, err := cmd.CombinedOutput()
			if got := fmt.Sprint(string(out), err); !strings.Contains(got, says) || (err == nil) != (how == "little") {
				t.Errorf("%.300s; want %q", got, says)
			}
		})
	}
}
