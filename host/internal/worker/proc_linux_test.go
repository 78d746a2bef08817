package worker

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// descriptors is how many are open.
func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// children are the processes that this one has started, zombies too.
func children(t *testing.T) (all []string) {
	t.Helper()
	processes, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		stat, err := os.ReadFile("/proc/" + p.Name() + "/stat")
		if _, after, ok := strings.Cut(string(stat), ") "); err == nil && ok {
			var state string
			var parent int
			if fmt.Sscan(after, &state, &parent); parent == os.Getpid() {
				all = append(all, p.Name()+" "+state)
			}
		}
	}
	return all
}
