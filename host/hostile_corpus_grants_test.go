package host_test

import (
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host"
)

// trespass is an open that no grant allows, and what the guest is told.
type trespass struct {
	name    string
	kind    abi.OpenKind
	request abi.OpenRequest // for main, where it names no grant
	want    abi.Status
}

// openKinds are the kinds of grant that the ABI knows.
func openKinds() (all []abi.OpenKind) {
	for k := abi.OpenKind(1); ; k++ {
		if _, known := abi.ParseOpenKind(k.String()); !known {
			return all
		}
		all = append(all, k)
	}
}

// entries grant one kind each.
var entries = map[abi.OpenKind]host.Server{
	abi.OpenProcess: {Command: os.Args[0], Env: map[string]string{serverVariable: "silent"}},
	abi.OpenStream:  {Address: "tcp:127.0.0.1:9"},
	abi.OpenHTTP:    {URL: "http://127.0.0.1:9/a/mcp"},
}

// beyond is what a grant of each kind does not hold.
var beyond = map[abi.OpenKind][]trespass{
	abi.OpenProcess: notHTTP,
	abi.OpenStream:  notHTTP,
	abi.OpenHTTP: {
		{name: "no method", want: abi.Malformed},
		{name: "another method", request: abi.OpenRequest{Method: "PUT"}, want: abi.Denied},
		{name: "a method in small letters", request: abi.OpenRequest{Method: "get"}, want: abi.Denied},
		{name: "another host", request: getting("http://evil.example/a/mcp"), want: abi.Denied},
		{name: "another port", request: getting("http://127.0.0.1:10/a/mcp"), want: abi.Denied},
		{name: "another scheme", request: getting("https://127.0.0.1:9/a/mcp"), want: abi.Denied},
		{name: "a file", request: getting("file:///etc/passwd"), want: abi.Denied},
		{name: "a user name before the host", request: getting("http://me@127.0.0.1:9/a/mcp"), want: abi.Denied},
		{name: "a host without a scheme", request: getting("//evil.example/a/mcp"), want: abi.Denied},
		{name: "another path", request: getting("/b"), want: abi.Denied},
		{name: "a path that begins alike", request: getting("/a/mcpx"), want: abi.Denied},
		{name: "a path that leads up", request: getting("/a/mcp/../../b"), want: abi.Denied},
		{name: "a path that leads up in disguise", request: getting("/a/mcp/%2e%2e/%2e%2e/b"), want: abi.Malformed},
		{name: "a target of 1 MiB", request: getting("/a/mcp/" + strings.Repeat("x", 1<<20)), want: abi.TooLarge},
		{name: "a credential", request: heading("authorization", "Bearer x"), want: abi.Denied},
		{name: "a cookie", request: heading("cookie", "x"), want: abi.Denied},
		{name: "another host in a header", request: heading("host", "evil.example"), want: abi.Denied},
		{name: "a credential for a proxy", request: heading("proxy-authorization", "x"), want: abi.Denied},
		{name: "a length", request: heading("content-length", "5"), want: abi.Denied},
		{name: "a second request in a header", request: heading("accept", "x\r\n\r\nGET /b HTTP/1.1"), want: abi.Malformed},
		{name: "an upgrade that is not asked for", request: heading("upgrade", "websocket"), want: abi.Denied},
		{name: "an upgrade to nothing", request: abi.OpenRequest{Method: "GET", Flags: abi.Upgrade}, want: abi.Malformed},
		{name: "an upgrade of a POST", request: abi.OpenRequest{Method: "POST", Flags: abi.Upgrade, Headers: []abi.Pair{{Key: "upgrade", Value: "websocket"}}}, want: abi.Malformed},
	},
}

// notHTTP is what the kinds do not hold that have no requests.
var notHTTP = []trespass{
	{name: "an upgrade", request: abi.OpenRequest{Flags: abi.Upgrade}, want: abi.Malformed},
	{name: "a method", request: abi.OpenRequest{Method: "GET"}, want: abi.Malformed},
	{name: "a target", request: abi.OpenRequest{Target: "/etc/passwd"}, want: abi.Malformed},
	{name: "a header", request: abi.OpenRequest{Headers: []abi.Pair{{Key: "path", Value: "/etc/passwd"}}}, want: abi.Malformed},
}

func getting(target string) abi.OpenRequest { return abi.OpenRequest{Method: "GET", Target: target} }

func heading(key, value string) abi.OpenRequest {
	return abi.OpenRequest{Method: "GET", Headers: []abi.Pair{{Key: key, Value: value}}}
}

// strange are the trespasses that there are beside a grant of any kind.
func strange(granted abi.OpenKind) (all []trespass) {
	for _, kind := range openKinds() {
		if kind != granted {
			all = append(all, trespass{name: "a " + kind.String() + " in its place", kind: kind, want: abi.Denied})
		}
	}
	r := abi.OpenRequest{Method: method(granted)}
	other, longer, flagged := r, r, r
	other.Grant, longer.Grant, flagged.Flags = "other", "main\x00", 1<<7
	return append(all,
		trespass{name: "a grant of another name", kind: granted, request: other, want: abi.Denied},
		trespass{name: "a grant whose name begins alike", kind: granted, request: longer, want: abi.Denied},
		trespass{name: "a flag that there is not", kind: granted, request: flagged, want: abi.Malformed},
		trespass{name: "kind 0", request: r, want: abi.Unavailable},
		trespass{name: "a kind that there is not", kind: abi.OpenKind(len(openKinds()) + 1), request: r, want: abi.Unavailable},
	)
}

func method(kind abi.OpenKind) string {
	if kind == abi.OpenHTTP {
		return "GET"
	}
	return ""
}

// opener is a plugin that makes one open when it connects, and returns what it was
// told; being let in is not what it expects.
func opener(kind abi.OpenKind, r abi.OpenRequest) []byte {
	if r.Grant == "" {
		r.Grant = "main"
	}
	block := abi.AppendOpenRequest(nil, &r)
	p := tells(hostCall(abi.CallOpen, int32(kind), 0, freeAt, int32(len(block))), 0x22, 4, num(0), 0x48, opIf, voidBlock, get(4), opReturn, opEnd, 0x00, get(4))
	p.raw = map[byte][]byte{sectionData: list(append(data(), code(0, num(freeAt), opEnd, named(string(block))))...)}
	p.pages = 32
	return p.bytes()
}

// TestTrespasses has a whole host refuse, for each kind of grant, every open that
// goes beyond it. A kind that the ABI gains needs an entry and its trespasses here.
func TestTrespasses(t *testing.T) {
	t.Parallel()
	type try struct {
		trespass
		entry host.Server
	}
	var tries []try
	for _, kind := range openKinds() {
		entry, known := entries[kind]
		if !known || len(beyond[kind]) == 0 {
			t.Errorf("nothing is tried with a grant of kind %s", kind)
		}
		tries = append(tries, try{trespass{name: "no grant at all for a " + kind.String(), kind: kind, request: abi.OpenRequest{Method: method(kind)}, want: abi.Denied}, host.Server{}})
		for _, one := range strange(kind) {
			one.name = kind.String() + ": " + one.name
			tries = append(tries, try{one, entry})
		}
		for _, one := range beyond[kind] {
			one.name, one.kind = kind.String()+": "+one.name, kind
			tries = append(tries, try{one, entry})
		}
	}
	all := make([]attack, len(tries))
	for n, one := range tries {
		all[n] = attack{name: one.name, whole: opener(one.kind, one.request), ends: gaveUp(one.want)}
	}
	h := newFleetHost(t, all)
	for n, one := range tries {
		t.Run(one.name, func(t *testing.T) {
			entry := one.entry
			entry.Name, entry.Transport, entry.Protocol = "bad", hostileName(n), "2026-07-28"
			if err := strike(t.Context(), h, entry); !all[n].ends.known(err) {
				t.Errorf("ended with %v, want %v", err, one.want)
			}
		})
	}
}
