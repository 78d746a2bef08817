package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var kills = flag.Int("kills", 0, "kill the parents of so many bridges, and want nothing of them left after 2 s")

// TestBridgeEndsWithItsParent kills editors that have started a bridge, or serve, which ends in the
// same way: neither that nor the server behind it stays. The stdin of every other one is held open
// by another process than the editor, so that its end does not tell.
func TestBridgeEndsWithItsParent(t *testing.T) {
	n, limit := 6, 30*time.Second // for a busy machine
	if *kills > 0 {
		n, limit = *kills, 2*time.Second
	}
	config := filepath.Join(t.TempDir(), "wharf.toml")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := [][]string{{"add", "bridge", "-q", "--", "wharf", "demo-server"}, {"demo__add", "serve", "-q", "--config", config}}
	var slowest time.Duration
	for i := range n {
		slowest = max(slowest, killEditor(t, i%2 == 0, limit, lines[i/2%2]))
	}
	t.Logf("%d editors killed; the slowest bridge was gone after %v", n, slowest.Round(time.Millisecond))
}

// killEditor returns how long what an editor has started, and what that had, took to end. words are
// the tool that the editor calls, and what it starts wharf with.
func killEditor(t *testing.T, held bool, limit time.Duration, words []string) time.Duration {
	t.Helper()
	cmd := exec.Command("editor", append([]string{strconv.FormatBool(held)}, words...)...)
	own, stdin, err := os.Pipe() // not that of cmd, which Wait would close
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	defer stdin.Close()
	if held {
		io.WriteString(stdin, greeting(words[0]))
	}
	cmd.Stdin = own
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	pid, wrong := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || wrong != nil {
		t.Fatalf("the editor said %q: %v", line, err)
	}
	var watched []unix.PollFd
	for _, pid := range append(childrenOf(t, pid), pid) {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		watched = append(watched, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if len(watched) < 2 {
		t.Fatal("the bridge has started no server")
	}
	cmd.Process.Kill()
	cmd.Wait()
	killed := time.Now()
	for i := range watched {
		for {
			n, err := unix.Poll(watched[i:i+1], int(max(0, limit-time.Since(killed)).Milliseconds()))
			if err == unix.EINTR {
				continue
			}
			if n != 1 || err != nil {
				t.Fatalf("stdin held %v: process %d of %d is there %v after its editor was killed", held, i+1, len(watched), limit)
			}
			break
		}
	}
	return time.Since(killed)
}

// childrenOf returns the processes that a process has started.
func childrenOf(t *testing.T, parent int) (pids []int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", parent))
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", parent))
	for _, task := range tasks { // a process belongs to the thread that started it
		more, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", parent, task.Name()))
		text = append(append(text, ' '), more...)
	}
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && !seen[word] {
			seen[word] = true
			pids = append(pids, pid)
		}
	}
	return pids
}
