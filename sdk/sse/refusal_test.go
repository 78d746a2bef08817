//go:build !wasip1

package sse_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

// discard is a transport with a reader and the host for it, which keeps nothing.
type discard struct {
	reader  sse.Reader
	payload []byte
}

func (d *discard) Open(*sdk.Conn, *abi.Settings) error      { return nil }
func (d *discard) Message(sdk.Message) (sdk.Outcome, error) { return sdk.HandedOver, nil }

func (d *discard) Handle(e sdk.Event) error {
	for p, ok := d.reader.Next(e.Payload); ok; p, ok = d.reader.Next(p) {
	}
	return nil
}

func (d *discard) Call(op abi.Call, a [4]uint32, data []byte) int32 {
	switch op {
	case abi.CallTake:
		return int32(copy(data, d.payload[a[0]:]))
	case abi.CallScan:
		if i := bytes.IndexAny(d.payload[a[0]:], "\r\n"); i >= 0 {
			return int32(a[0]) + int32(i)
		}
		return -1
	}
	return 0
}

// refuser collects a refusal.
type refuser struct {
	discard
	refusal sse.Refusal
	full    bool
}

func (r *refuser) Handle(e sdk.Event) error {
	r.full = r.refusal.Add(e.Payload)
	return nil
}

func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		body, want string
		full       bool
	}{
		{"", "HTTP 500", false},
		{"Internal Server Error\n", "HTTP 500: Internal Server Error", false},
		{" \r\n<html>\n\t<body>\x1b[31mred\x00\u202Eevil\xFF\n", "HTTP 500: <html> <body>[31mredevil", false},
		{strings.Repeat("a", 199) + "é and more", "HTTP 500: " + strings.Repeat("a", 199) + "…", true},
		{strings.Repeat("long ", 100), "HTTP 500: " + strings.TrimSpace(strings.Repeat("long ", 40)) + "…", true},
	} {
		for _, size := range []int{1, 64, 1000} {
			r := &refuser{refusal: sse.Refusal{Status: 500}}
			h := sdktest.New(abi.Manifest{}, r)
			for from := 0; from < len(tt.body); from += size {
				h.Data(1, 0, []byte(tt.body[from:min(from+size, len(tt.body))]))
			}
			if got := r.refusal.String(); got != tt.want || r.full != tt.full {
				t.Errorf("%.20q by %d: %q, full %v", tt.body, size, got, r.full)
			}
		}
	}
}

// What shows nothing, and what turns the text beside it around, is left out of a
// refusal; every other character that Unicode knows is not.
func TestRefusalShowsWhatCanBeSeen(t *testing.T) {
	unseen := []*unicode.RangeTable{unicode.Z, unicode.Cc, unicode.Cf, unicode.Co}
	seen := []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S}
	r := &refuser{}
	h := sdktest.New(abi.Manifest{}, r)
	var body, want []rune
	for c := rune(0x21); c <= unicode.MaxRune; c++ {
		switch {
		case c == utf8.RuneError || unicode.In(c, unseen...):
			body = append(body, c)
		case unicode.In(c, seen...):
			body, want = append(body, c), append(want, c)
		}
		if len(body) < batch && c < unicode.MaxRune {
			continue
		}
		r.refusal.Reset(500)
		h.Data(1, 0, []byte(string(body)))
		if got := strings.TrimPrefix(strings.TrimPrefix(r.refusal.String(), "HTTP 500"), ": "); got != string(want) {
			t.Errorf("of %U it shows %q, want %q", body, got, string(want))
		}
		body, want = body[:0], want[:0]
	}
}

// batch characters fit into what is kept of a body.
const batch = 40
