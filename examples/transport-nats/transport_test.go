//go:build !wasip1

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// The inbox of a test is always the same one.
const inbox = "_INBOX.686172626f7572206d617374."

func fresh() sdk.Transport {
	return &transport{fill: func(b *[12]byte) { copy(b[:], "harbour mast") }}
}

var settings = abi.Settings{Server: "fleet", Values: []abi.Pair{{Key: settingPrefix, Value: "mcp.fleet"}}}

// connected is a host whose guest is up, with nothing written that counts.
func connected(t testing.TB) *sdktest.Host {
	t.Helper()
	h := sdktest.New(manifest, fresh())
	h.Open(&settings)
	h.Event(abi.EventOpened, 1, 0, nil)
	h.Data(1, 0, []byte("INFO {\"max_payload\":1024,\"headers\":true}\r\nPONG\r\n"))
	if len(h.Reports) != 1 || h.Reports[0].What != abi.ReportUp {
		t.Fatalf("reported %+v", h.Reports)
	}
	h.Reports, h.Written[1] = nil, nil
	return h
}

func msg(exchange int, message string) string {
	return fmt.Sprintf("MSG %s%d 1 %d\r\n%s\r\n", inbox, exchange, len(message), message)
}

func answer(id int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, id) }

const (
	note    = `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`
	request = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
)

func TestTraces(t *testing.T) {
	sdktest.RunFiles(t, "testdata/*.trace", manifest, fresh)
}

// The trace of the contract is one that this plugin keeps to.
func TestGolden(t *testing.T) {
	sdktest.Run(t, manifest, fresh(), sdktest.Read(t, "../../abi/testdata/traces/nats.trace"))
}

// streams are what a NATS server can send, and what comes of it.
var streams = map[string]struct {
	data      string
	delivered []string // exchange and message
	reports   string   // without UP
}{
	"answer":            {msg(4, answer(4)), []string{"4 " + answer(4)}, "DONE 4 OK "},
	"notes, answer":     {msg(4, note) + msg(4, note) + "PING\r\n" + msg(4, answer(4)), []string{"4 " + note, "4 " + note, "4 " + answer(4)}, "DONE 4 OK "},
	"shared":            {msg(0, note), []string{"0 " + note}, ""},
	"two exchanges":     {msg(9, note) + msg(4, answer(4)) + msg(9, answer(9)), []string{"9 " + note, "4 " + answer(4), "9 " + answer(9)}, "DONE 4 OK DONE 9 OK "},
	"malformed":         {msg(4, "tide"), []string{"4 tide"}, "DONE 4 OK "},
	"empty":             {msg(4, "") + msg(4, answer(4)), []string{"4 " + answer(4)}, "DONE 4 OK "},
	"reply subject":     {fmt.Sprintf("MSG %s4 1 fleet.7 %d\r\n%s\r\n", inbox, len(note), note), []string{"4 " + note}, ""},
	"headers":           {fmt.Sprintf("HMSG %s4 1 22 %d\r\nNATS/1.0\r\nTide: low\r\n%s\r\n", inbox, 21+1+len(note), "\n"+note), []string{"4 " + note}, ""},
	"no subscriber":     {"HMSG " + inbox + "5 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n" + msg(4, answer(4)), []string{"4 " + answer(4)}, "FAILED 5 REFUSED no server listens on mcp.fleet.request DONE 4 OK "},
	"none, shared":      {"HMSG " + inbox + "0 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n", nil, ""},
	"another inbox":     {"MSG _INBOX.other.4 1 4\r\ntide\r\n" + msg(4, answer(4)), []string{"4 " + answer(4)}, "DONE 4 OK "},
	"no number":         {"MSG " + inbox + "x 1 4\r\ntide\r\n" + "MSG " + inbox + "4294967296 1 0\r\n\r\n", nil, ""},
	"lines":             {"+OK\r\n\r\nPONG\r\nPING\r\nINFO {\"ldm\":true}\r\n", nil, ""},
	"publish forbidden": {"-ERR 'Permissions Violation for Publish to \"mcp.fleet.cancel\"'\r\n" + msg(4, note), []string{"4 " + note}, ""},

	"authorization":     {"-ERR 'Authorization Violation'\r\n", nil, "FAILED 0 UNAUTHORIZED the NATS server says: Authorization Violation; look at auth in the entry "},
	"expired":           {"-ERR 'User Authentication Expired'\r\n", nil, "FAILED 0 UNAUTHORIZED the NATS server says: User Authentication Expired; look at auth in the entry "},
	"slow sign-in":      {"-ERR 'Authentication Timeout'\r\n", nil, "FAILED 0 TIMED_OUT the NATS server says: Authentication Timeout "},
	"requests refused":  {"-ERR 'Permissions Violation for Publish to \"mcp.fleet.request\"'\r\n", nil, "FAILED 0 DENIED the NATS server says: Permissions Violation for Publish to \"mcp.fleet.request\" "},
	"inbox forbidden":   {"-ERR 'Permissions Violation for Subscription to \"_INBOX.x.*\"'\r\n", nil, "FAILED 0 DENIED the NATS server says: Permissions Violation for Subscription to \"_INBOX.x.*\"; write inbox = \"…\" in the entry, with what this user's inboxes begin with "},
	"stale":             {"-ERR 'Stale Connection'\r\n", nil, "FAILED 0 TIMED_OUT the NATS server says: Stale Connection "},
	"parser":            {"-ERR 'Unknown Protocol Operation'\r\n", nil, "FAILED 0 PROTOCOL the NATS server says: Unknown Protocol Operation "},
	"another protocol":  {"HTTP/1.1 400 Bad Request\r\n", nil, `FAILED 0 PROTOCOL this is no NATS server: it sent "HTTP/1.1 400 Bad Request" `},
	"no size":           {"MSG " + inbox + "4 1\r\n", nil, "FAILED 0 PROTOCOL the NATS server announces a message with \"" + inbox + "4 1\" "},
	"size below zero":   {"MSG a 1 -1\r\n", nil, `FAILED 0 PROTOCOL the NATS server announces a message with "a 1 -1" `},
	"more headers":      {"HMSG a 1 9 8\r\n", nil, `FAILED 0 PROTOCOL the NATS server announces a message with "a 1 9 8" `},
	"too many words":    {"MSG a 1 b c 4\r\n", nil, `FAILED 0 PROTOCOL the NATS server announces a message with "a 1 b c 4" `},
	"large size":        {"MSG a 1 4294967296\r\n", nil, `FAILED 0 PROTOCOL the NATS server announces a message with "a 1 4294967296" `},
	"endless line":      {strings.Repeat("x", longestLine+1), nil, "FAILED 0 PROTOCOL this is no NATS server: it sent a line that does not end "},
	"shutdown, message": {"-ERR 'Server Shutdown'\r\n", nil, "FAILED 0 PROTOCOL the NATS server says: Server Shutdown "},
}

// How a stream is cut makes no difference.
func TestStreams(t *testing.T) {
	for name, tt := range streams {
		for cut := range min(len(tt.data), 400) {
			h := connected(t)
			if h.Data(1, 0, []byte(tt.data[:cut])) == 0 {
				h.Data(1, 0, []byte(tt.data[cut:]))
			}
			if got := reported(h); got != tt.reports || fmt.Sprint(delivered(h)) != fmt.Sprint(tt.delivered) || h.Trap != "" {
				t.Errorf("%s, cut at %d: delivered %q, reported %s %s", name, cut, delivered(h), got, h.Trap)
			}
		}
		h := connected(t)
		for i := range len(tt.data) {
			if h.Data(1, 0, []byte(tt.data[i:i+1])) != 0 {
				break
			}
		}
		if got := reported(h); got != tt.reports || fmt.Sprint(delivered(h)) != fmt.Sprint(tt.delivered) {
			t.Errorf("%s, byte by byte: delivered %q, reported %s", name, delivered(h), got)
		}
	}
}

func reported(h *sdktest.Host) string {
	var b strings.Builder
	for _, r := range h.Reports {
		fmt.Fprintf(&b, "%v %d %v ", r.What, r.Exchange, r.Status)
		if r.Text != "" {
			b.WriteString(r.Text + " ")
		}
	}
	return b.String()
}

func delivered(h *sdktest.Host) (list []string) {
	for _, d := range h.Delivered {
		list = append(list, fmt.Sprint(d.Exchange, " ", d.Message))
	}
	return list
}

func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		kind abi.MessageKind
		want string
		out  int32
	}{
		{abi.Request, "PUB mcp.fleet.request " + inbox + "7 46\r\n" + request + "\r\n", abi.Later},
		{abi.Notification, "PUB mcp.fleet.notify 46\r\n" + request + "\r\n", abi.HandedOver},
		{abi.Reply, "PUB mcp.fleet.notify 46\r\n" + request + "\r\n", abi.HandedOver},
	} {
		h := connected(t)
		if out := h.Message(7, &abi.Facts{Kind: tt.kind}, request); out != tt.out || string(h.Written[1]) != tt.want {
			t.Errorf("%v: returned %d, wrote %q", tt.kind, out, h.Written[1])
		}
	}
	h := connected(t)
	if out := h.Message(7, &abi.Facts{Kind: abi.Request}, strings.Repeat("x", 1025)); out != abi.Later || len(h.Written[1]) > 0 || reported(h) != "FAILED 7 REFUSED the NATS server takes messages up to 1024 bytes " {
		t.Errorf("a long message: %d, wrote %d bytes, reported %s", out, len(h.Written[1]), reported(h))
	}
}

func TestCancel(t *testing.T) {
	for _, exchange := range []uint32{4, 10, 4294967295} {
		h := connected(t)
		h.Event(abi.EventCancel, 0, exchange, nil)
		name := fmt.Sprint(inbox, exchange)
		if want := fmt.Sprintf("PUB mcp.fleet.cancel %d\r\n%s\r\n", len(name), name); string(h.Written[1]) != want {
			t.Errorf("wrote %q, want %q", h.Written[1], want)
		}
	}
}

// What signs in goes into CONNECT and before all else, and comes from a payload
// that the guest cannot read.
func TestSignIn(t *testing.T) {
	h := sdktest.New(manifest, fresh())
	h.Open(&settings)
	h.Sealed(1, []byte(`"auth_token":"canary"`))
	want := `CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"lang":"wharf","version":"0.1.0","protocol":1,"auth_token":"canary"}` +
		"\r\nSUB " + inbox + "* 1\r\nPING\r\n"
	if got := string(h.Written[1]); got != want {
		t.Errorf("wrote %q\nwant  %q", got, want)
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct{ prefix, inbox, wrong string }{
		{"", "", "prefix"}, {"mcp.*", "", "prefix"}, {"mcp..a", "", "prefix"}, {"a b", "", "prefix"}, {"a\r\nPUB x 0", "", "prefix"}, {".", "", "prefix"},
		{"mcp", ">", "inbox"}, {"mcp", "_INBOX.", "inbox"}, {"mcp", "_INBOX_ada", ""},
	} {
		h := sdktest.New(manifest, fresh())
		result := h.Open(&abi.Settings{Values: []abi.Pair{{Key: settingPrefix, Value: tt.prefix}, {Key: settingInbox, Value: tt.inbox}}})
		if (result == 0) != (tt.wrong == "") || result != 0 && (result != int32(abi.Malformed) || !strings.HasPrefix(h.Reports[0].Text, tt.wrong+" = ")) {
			t.Errorf("%+v: OPEN returned %d, reported %+v", tt, result, h.Reports)
		}
	}
}

// A server that ends the connection before it has answered had a reason, and one
// of them is known.
func TestUnwelcome(t *testing.T) {
	for info, want := range map[string]string{
		"": "FAILED 0 RESET the NATS server closed the connection before it was ready ",
		"INFO {\"tls_required\":true,\"max_payload\":1024}\r\n": `FAILED 0 PROTOCOL the NATS server asks for TLS: write address = "tls:…", and in its configuration tls { handshake_first: true } `,
	} {
		h := sdktest.New(manifest, fresh())
		h.Open(&settings)
		h.Event(abi.EventOpened, 1, 0, nil)
		h.Data(1, abi.Last, []byte(info))
		if got := reported(h); got != want {
			t.Errorf("%q: reported %s", info, got)
		}
	}
}

// Whatever a server sends, and however it is cut, the guest neither traps nor
// disagrees with itself.
func FuzzServer(f *testing.F) {
	for _, tt := range streams {
		f.Add([]byte(tt.data), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		whole := connected(t)
		result := whole.Data(1, 0, data)
		h := connected(t)
		cut := int32(0)
		for rest, n := data, max(1, size&0xffff); len(rest) > 0 && cut == 0; {
			part := rest[:min(n, len(rest))]
			rest = rest[len(part):]
			cut = h.Data(1, 0, part)
		}
		if h.Trap != "" || whole.Trap != "" || result != cut || reported(h) != reported(whole) || fmt.Sprint(delivered(h)) != fmt.Sprint(delivered(whole)) {
			t.Fatalf("at once %d %s %q %s\ncut %d %s %q %s", result, whole.Trap, delivered(whole), reported(whole), cut, h.Trap, delivered(h), reported(h))
		}
	})
}

// quiet is a host that keeps nothing.
type quiet struct{ payload []byte }

func (q *quiet) Call(op abi.Call, a [4]uint32, data []byte) int32 {
	switch op {
	case abi.CallTake:
		return int32(copy(data, q.payload[a[0]:]))
	case abi.CallScan:
		if i := bytes.IndexByte(q.payload[a[0]:], '\n'); i >= 0 {
			return int32(a[0]) + int32(i)
		}
		return -1
	case abi.CallOpen, abi.CallDeliver: // and the verdict is ANSWER
		return 1
	}
	return 0
}

// A guest that makes no garbage stays as small as it began.
func TestNothingIsAllocatedPerMessage(t *testing.T) {
	q := &quiet{}
	g := sdk.NewGuest(manifest, fresh(), q)
	event := func(kind abi.Kind, handle, arg uint32, payload string) {
		q.payload = append(q.payload[:0], payload...)
		g.Event(kind, handle, arg, uint32(len(payload)))
	}
	event(abi.EventOpen, 0, 0, string(abi.AppendSettings(nil, &settings)))
	event(abi.EventOpened, 1, 0, "")
	facts := string(abi.AppendFacts(nil, &abi.Facts{Kind: abi.Request, ID: "1"}))
	out, in := facts+request, msg(7, note)+"PING\r\n"+fmt.Sprintf("HMSG %s7 1 12 14\r\nNATS/1.0\r\n\r\n{}\r\n", inbox)+msg(7, answer(7))
	allocs := testing.AllocsPerRun(100, func() {
		event(abi.EventMessage, uint32(len(facts)), 7, out)
		event(abi.EventData, 1, 0, in)
		event(abi.EventCancel, 0, 7, "")
	})
	if allocs > 0 {
		t.Errorf("%v allocations per message", allocs)
	}
}
