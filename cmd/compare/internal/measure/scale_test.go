package measure

import (
	"runtime"
	"strings"
	"testing"
)

// TestConnectionsTakeDescriptors wants to know before it connects.
func TestConnectionsTakeDescriptors(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("descriptors are limited on Unix only")
	}
	for _, c := range Curves() {
		_, err := c.take(t.Context(), &run{}, load{connections: 1 << 40})
		if err == nil || !strings.Contains(err.Error(), "file descriptors are needed") {
			t.Errorf("%s: got %v", c.Name, err)
		}
	}
}

// TestCallersTakeConnectionsInTurn has three callers on connections that are fewer, as
// many, and more: all are taken, and none by two callers if there are enough.
func TestCallersTakeConnectionsInTurn(t *testing.T) {
	const callers = 3
	for _, connections := range []int{1, 2, 3, 4, 7, 9} {
		by := map[int]map[int]bool{} // connection: callers
		for caller := range callers {
			for n := range 2 * connections {
				c := turn(connections, callers, caller, n)
				if by[c] == nil {
					by[c] = map[int]bool{}
				}
				by[c][caller] = true
			}
		}
		if len(by) != connections {
			t.Errorf("%d connections: %d were taken", connections, len(by))
		}
		for c, who := range by {
			if c < 0 || c >= connections || connections >= callers && len(who) > 1 {
				t.Errorf("%d connections: number %d was taken by %v", connections, c, who)
			}
		}
	}
}
