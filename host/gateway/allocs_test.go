//go:build !race

package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// TestCallAllocations holds how much the gateway allocates for a call, through both plugins, and that
// it is no more for a large one. What the caller and the server of the test allocate without a gateway
// does not count. (The race detector empties pools.)
func TestCallAllocations(t *testing.T) {
	const most = 40
	per := func(in *bufio.Reader, out io.Writer, size int) float64 {
		text, n := strings.Repeat("x", size), 0
		return testing.AllocsPerRun(200, func() {
			n++
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"text":"%s"}}}`+"\n", n, text)
			if _, err := in.ReadSlice('\n'); err != nil {
				t.Fatal(err)
			}
		})
	}
	through := func(size int) float64 {
		in, out := benchClient(t)
		ours, theirs := testenv.NewDuplex()
		defer theirs.Close()
		go repeat(ours)
		return per(in, out, size) - per(bufio.NewReaderSize(theirs, 2<<20), theirs, size)
	}
	small, large := through(100), through(10_000)
	t.Logf("100 bytes: %v allocations, 10 KB: %v", small, large)
	if large > most || large > small+1 {
		t.Errorf("a call of 10 KB has %v allocations, and one of 100 bytes %v; the most is %v", large, small, most)
	}
}
