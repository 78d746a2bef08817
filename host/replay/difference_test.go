package replay

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// In what was masked a mark is like any other byte, on either side: what a guest
// was shown and what it made of that need not be masked in the same places.
func TestSame(t *testing.T) {
	write := func(text string, masked bool) call {
		c := newCall(abi.CallWrite, []uint32{1, 77, uint32(len(text)), 0}, []byte(text), 0)
		c.masked = masked
		return c
	}
	for _, tt := range []struct {
		want, got string
		masked    bool
		same      bool
	}{
		{"a***b", "a***b", false, true},
		{"a***b", "axyzb", false, false},
		{"a***b", "axyzb", true, true},
		{"axyzb", "a***b", true, true},
		{"a***b", "axyzc", true, false},
		{"a***b", "axyb", true, false},
	} {
		want, got := write(tt.want, tt.masked), write(tt.got, false)
		if want.same(&got) != tt.same {
			t.Errorf("%+v", tt)
		}
	}
	hidden := write("12345", false)
	hidden.bytes, hidden.hidden = nil, true
	same, other := write("abcde", false), write("abcd", false)
	if !hidden.same(&same) || hidden.same(&other) {
		t.Error("of what is hidden, the length counts")
	}
}

// A request is the same however it is encoded, and so is a manifest with other
// words for people.
func TestSameBlocks(t *testing.T) {
	request := abi.AppendOpenRequest(nil, &abi.OpenRequest{Grant: "main", Method: "GET"})
	longer := append(append([]byte{}, request...), 0xff, 0, 1, 0, 0, 0, 'x') // an unknown field
	longer[0] += 7
	a := newCall(abi.CallOpen, []uint32{3, 0, 8, uint32(len(request))}, request, 1)
	b := newCall(abi.CallOpen, []uint32{3, 0, 9, uint32(len(longer))}, longer, 1)
	c := newCall(abi.CallOpen, []uint32{3, 1, 8, uint32(len(request))}, request, 1)
	if !a.same(&b) || a.same(&c) {
		t.Errorf("%q and %q", request, longer)
	}
	describe := func(m abi.Manifest) call {
		block := abi.AppendManifest(nil, &m)
		return newCall(abi.CallReport, []uint32{1, 0, 0, 8, uint32(len(block))}, block, 0)
	}
	a, b = describe(abi.Manifest{Name: "x", Version: "1"}), describe(abi.Manifest{Name: "x", Version: "1.2", Summary: "better"})
	c = describe(abi.Manifest{Name: "x", Version: "1", Unsolicited: true})
	if !a.same(&b) || a.same(&c) {
		t.Error("manifests")
	}
}

// The bytes are shown where they differ.
func TestWhereTheyDiffer(t *testing.T) {
	text := strings.Repeat("x", 500)
	a, b := []byte(text+"a"+text), []byte(text+"b"+text)
	c := newCall(abi.CallWrite, []uint32{1, 0, uint32(len(a)), 0}, a, 0)
	if got := c.lines(apart(a, b)); !strings.HasPrefix(got, "  <-- write(1, 1001) = OK\n    | … \"xxx") || !strings.Contains(got, "xax") || !strings.HasSuffix(got, "\" …") {
		t.Error(got)
	}
}
