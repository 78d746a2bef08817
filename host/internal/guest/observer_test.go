package guest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// notes are what an observer saw.
type notes []string

func (n *notes) Event(kind abi.Kind, handle, arg, size uint32, payload []byte) {
	*n = append(*n, fmt.Sprintf("%v %d %d %d %q", kind, handle, arg, size, payload))
}

func (n *notes) Call(c abi.Call, args []uint32, carried []byte, result int32) {
	*n = append(*n, fmt.Sprintf("%v %d %q %d", c, len(args), carried, result))
}

func (n *notes) Return(result int32, err error) {
	*n = append(*n, fmt.Sprint(result, " ", err))
}

// An observer sees every event, call and end, and of a sealed payload the length.
func TestObserver(t *testing.T) {
	var seen notes
	r := open(t, stdioPackage, Config{SingleThreaded: true, Observer: &seen})
	s := r.host.stream(0)
	seen = seen[:0]
	s.sink.Sealed([]byte("canary"))
	r.send(t, 1, "{}")
	s.sink.Data([]byte("{}\n"), false)
	want := []string{
		`OPENED 1 1 6 ""`, `report 5 "" 0`, `0 <nil>`,
		`forward 4 "" 0`, `write 4 "\n" 0`, `1 <nil>`,
		`DATA 1 0 3 "{}\n"`, `take 3 "" 3`, `scan 2 "" 2`, `deliver 4 "" 1`, `0 <nil>`,
	}
	got := seen
	for n, line := range got {
		if strings.HasPrefix(line, "MESSAGE ") && strings.HasSuffix(line, `{}"`) {
			got = append(append(notes{}, got[:n]...), got[n+1:]...)
		}
	}
	if len(seen) != len(got)+1 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}
