//go:build !wasip1

package main

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

func fresh() sdk.Transport { return &transport{} }

// opened is a host whose guest has started its ssh.
func opened() *sdktest.Host {
	h := sdktest.New(manifest, fresh())
	h.Open(&abi.Settings{Server: "far"})
	h.Event(abi.EventOpened, 1, 0, nil)
	return h
}

func exit(h *sdktest.Host, code int32, said string) (result int32) {
	return h.Event(abi.EventExit, 1, uint32(code), []byte(said))
}

func TestTraces(t *testing.T) {
	sdktest.RunFiles(t, "testdata/*.trace", manifest, fresh)
}

// changed is what OpenSSH 9 says of a key that is another now.
const changed = "@@@@@@@@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n@@@@@@@@@@@@@@@@@\r\n" +
	"Offending ED25519 key in known:1\r\n  remove with:\r\n  ssh-keygen -f \"known\" -R \"[127.0.0.1]:22222\"\r\n" +
	"Host key for [127.0.0.1]:22222 has changed and you have requested strict checking.\r\nHost key verification failed.\r\n"

// ends are what ssh says before it exits with 255, and the beginning of what the
// user is told.
var ends = []struct {
	said   string
	status abi.Status
	text   string
}{
	{changed, abi.Unauthorized, `ssh: the host key of "[127.0.0.1]:22222" has changed: `},
	{"Host key for far.example has changed and you", abi.Unauthorized, "ssh: the host key of far.example has changed: another machine may be answering in its place; if you know of a new key, remove the old one: ssh-keygen -R far.example"},
	{"Host key for -oProxyCommand has changed", abi.Unauthorized, "ssh: the host key of HOST has changed"},
	{"Host key for x;reboot has changed", abi.Unauthorized, "ssh: the host key of HOST has changed"},
	{"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n", abi.Unauthorized, "ssh: the host key has changed"},
	{"Host key verification failed.\r\n", abi.Unauthorized, "ssh: the host key is not known"},
	{"banner\r\nada@far: Permission denied (publickey,password).\r\n", abi.Unauthorized, "ssh: the host refused the sign-in (permission denied: publickey,password)"},
	{"Received disconnect from 127.0.0.1 port 22:2: Too many authentication failures\r\n", abi.Unauthorized, "ssh: the host refused the sign-in after too many keys"},
	{"subsystem request failed on channel 0\r\n", abi.NotFound, `ssh: the host has no such subsystem; its sshd_config needs a line "Subsystem X program", where X is the last of the args of the entry`},
	{"ssh: Could not resolve hostname far.invalid: Name or service not known\r\n", abi.NotFound, "ssh: the host far.invalid was not found"},
	{"command-line: line 0: Bad configuration option: batchmod\r\n", abi.Malformed, "ssh: ssh does not know an option"},
	{"unknown option -- z\r\nusage: ssh [-46AaCfGgKkMNnqsTtVvXxYy]\r\n", abi.Malformed, "ssh: ssh does not know an option"},
	{"usage: ssh [-46AaCfGgKkMNnqsTtVvXxYy]\n", abi.Malformed, "ssh: ssh does not understand its arguments"},
	{"ssh: connect to host far port 22: Connection refused\r\n", abi.Unreachable, "ssh: nothing listens there"},
	{"ssh: connect to host far port 22: Connection timed out\r\n", abi.TimedOut, "ssh: the host does not answer"},
	{"Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-dss\r\n", abi.ProtocolFailed, "ssh: the host and this ssh"},
	{"kex_exchange_identification: read: Connection reset by peer\r\n", abi.Reset, "ssh: the host closed the connection before"},
	{"", abi.Unreachable, "ssh could not reach the server (exit code 255)"},
	{"\x00\xff(", abi.Unreachable, "ssh could not reach the server (exit code 255)"},
}

func TestFailuresOfSSH(t *testing.T) {
	for _, tt := range ends {
		h := opened()
		if result := exit(h, sshFailed, tt.said); result != int32(tt.status) {
			t.Errorf("%q: EXIT returned %d, want %v", tt.said, result, tt.status)
		}
		last := h.Reports[len(h.Reports)-1]
		if last.What != abi.ReportFailed || last.Status != tt.status || !strings.HasPrefix(last.Text, tt.text) {
			t.Errorf("%q: reported %v %q\nwant %v %q", tt.said, last.Status, last.Text, tt.status, tt.text)
		}
	}
}

// A server that has spoken was reached, and what ssh or the server says later is
// no failure of a key or of a sign-in.
func TestFailuresOfTheServer(t *testing.T) {
	const line = `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	for _, tt := range []struct {
		spoken bool
		code   int32
		want   string
	}{
		{true, 0, ""}, {false, 0, ""}, {true, -1, ""}, {false, -1, ""},
		{false, 1, "the server behind ssh ended with exit code 1"},
		{true, 7, "the server behind ssh ended with exit code 7"},
		{false, 126, "the server behind ssh ended with exit code 126: its program may not be run there"},
		{false, 127, "the server behind ssh ended with exit code 127: its program was not found there"},
		{true, 255, "the connection of ssh was lost (or the server ended with exit code 255)"},
	} {
		h := opened()
		if tt.spoken {
			h.Data(1, 0, []byte(line))
		}
		h.Event(abi.EventEnd, 1, 0, nil)
		result := exit(h, tt.code, changed)
		if tt.want == "" {
			if result != 0 || len(h.Reports) != 1 {
				t.Errorf("exit code %d: returned %d, reported %+v", tt.code, result, h.Reports)
			}
			continue
		}
		if last := h.Reports[len(h.Reports)-1]; result != int32(abi.Reset) || last.Text != tt.want {
			t.Errorf("exit code %d: returned %d, %q; want %q", tt.code, result, last.Text, tt.want)
		}
	}
}

// However ssh ends after CLOSE, that is what was wanted.
func TestEndAfterClose(t *testing.T) {
	h := opened()
	h.Event(abi.EventClose, 0, 0, nil)
	if result := exit(h, sshFailed, "Permission denied (publickey)."); result != 0 {
		t.Errorf("EXIT returned %d", result)
	}
	if last := h.Reports[len(h.Reports)-1]; last.What != abi.ReportEnded {
		t.Errorf("reported %+v", last)
	}
}

// How the stream is cut makes no difference.
func TestSplits(t *testing.T) {
	const stream = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\nMotd\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"
	whole := opened()
	whole.Data(1, abi.Last, []byte(stream))
	if len(whole.Delivered) != 4 {
		t.Fatalf("delivered %+v", whole.Delivered)
	}
	for i := range stream {
		h := opened()
		h.Data(1, 0, []byte(stream[:i]))
		h.Data(1, abi.Last, []byte(stream[i:]))
		for n, d := range h.Delivered {
			if len(h.Delivered) != 4 || d != whole.Delivered[n] {
				t.Fatalf("cut at %d: delivered %+v", i, h.Delivered)
			}
		}
	}
}

func TestUnknownFraming(t *testing.T) {
	h := sdktest.New(manifest, fresh())
	if result := h.Open(&abi.Settings{Values: []abi.Pair{{Key: "framing", Value: "morse"}}}); result != int32(abi.Malformed) || len(h.Opened) > 0 {
		t.Errorf("OPEN returned %d and opened %v", result, h.Opened)
	}
}

// Whatever stands on stderr, the connection ends with a status and with words that
// fit on a line.
func FuzzLastWords(f *testing.F) {
	for _, tt := range ends {
		f.Add(tt.said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		h := opened()
		result := exit(h, sshFailed, said)
		last := h.Reports[len(h.Reports)-1]
		if h.Trap != "" || result >= 0 || last.What != abi.ReportFailed || len(last.Text) > 1000 || strings.ContainsAny(last.Text, "\r\n") {
			t.Fatalf("EXIT returned %d %s, reported %+v", result, h.Trap, last)
		}
	})
}
