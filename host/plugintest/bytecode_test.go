package plugintest

import (
	"context"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// rigid is a guest in bytecode that knows nothing of later versions: of events
// other than DESCRIBE, OPEN and OPENED it says 1.
func rigid(name string) []byte {
	manifest := abi.AppendManifest(nil, &abi.Manifest{Name: name, Grants: []abi.Grant{{Kind: abi.OpenStream, Name: "main"}}})
	request := abi.AppendOpenRequest(nil, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	body := []byte{0} // no locals
	on := func(kind byte, code ...byte) {
		body = append(body, 0x20, 0, 0x41, kind, 0x46, 0x04, 0x40) // if kind is
		body = append(append(body, code...), 0x1a, 0x41, 0, 0x0f, 0x0b)
	}
	ints := func(list ...int) (code []byte) {
		for _, n := range list {
			code = append(append(code, 0x41), leb(n)...)
		}
		return code
	}
	const open, report = 0, 1
	on(1, append(ints(1, 0, 0, 0, len(manifest)), 0x10, report)...)
	on(2, append(ints(2, 0, 512, len(request)), 0x10, open)...)
	on(5, append(ints(2, 0, 0, 0, 0), 0x10, report)...)
	body = append(body, 0x41, 1, 0x0b)

	i32 := func(n int) []byte { return slices.Repeat([]byte{0x7f}, n) }
	signature := func(n int) []byte { return append(append([]byte{0x60, byte(n)}, i32(n)...), 1, 0x7f) }
	types := slices.Concat([]byte{4}, signature(4), signature(5), []byte{0x60, 0, 0})
	types[0] = 3
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, types),
		section(2, slices.Concat([]byte{2}, text(abi.Module), text("open"), []byte{0, 0}, text(abi.Module), text("report"), []byte{0, 1})),
		section(3, []byte{2, 0, 2}),
		section(5, []byte{1, 0, 1}),
		section(7, slices.Concat([]byte{3}, text("memory"), []byte{2, 0}, text(abi.ExportEvent), []byte{0, 2}, text(abi.ExportMarker), []byte{0, 3})),
		section(10, slices.Concat([]byte{2}, leb(len(body)), body, []byte{2, 0, 0x0b})),
		section(11, slices.Concat([]byte{2, 0}, ints(0), []byte{0x0b}, leb(len(manifest)), manifest, []byte{0}, ints(512), []byte{0x0b}, leb(len(request)), request)),
	)
}

// leb writes a number as signed LEB128, which is as good where it is unsigned.
func leb(n int) (out []byte) {
	for ; n > 0x3f; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

func text(s string) []byte { return append(leb(len(s)), s...) }

func section(id byte, content []byte) []byte {
	return append(append([]byte{id}, leb(len(content))...), content...)
}

func TestStrangeEventsCanFail(t *testing.T) {
	r := report(t, rigid("rigid"), Options{Profile: &Profile{Framing: "ndjson"}})
	wantFailure(t, r, "strange-events", "expected 0 and nothing else from an event of the unknown kind 14")
	if r.Check("module").Result != Passed || r.Check("describe").Result != Passed {
		t.Errorf("it is no guest at all: %+v", r.Checks[:2])
	}
}

// A caller who leaves gets what there is, and the reason.
func TestCallersMayLeave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, rigid("rigid"), Options{}); err == nil || r != nil && r.OK {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAuthProvidersAreNoTransports(t *testing.T) {
	if r, err := run(newChecker(t.Context(), &shared, read(t, "../../plugins/bearer/bearer.wasm"), Options{})); r == nil || r.Plugin.Class != classAuth {
		t.Error(err)
	}
}
