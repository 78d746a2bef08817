package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// closed handles the server's close frame. It either ends a close handshake that we began,
// or begins one. In the latter case closed answers it, and the frame tells why the
// connection ends (section 5.5.1).
func (t *transport) closed(payload []byte) error {
	code, wrong := closeCode(payload)
	if wrong != "" {
		return t.fail(abi.ProtocolFailed, 1002, "the server sent a close frame "+wrong)
	}
	if len(payload) > 2 && !utf8.Valid(payload[2:]) {
		return t.fail(abi.ProtocolFailed, 1007, "the server sent a close frame whose reason is not UTF-8")
	}
	if t.closing {
		t.end()
		return nil
	}
	if t.closing = true; len(payload) == 0 {
		t.out.control(opClose, nil)
	} else {
		t.out.close(code)
	}
	return sdk.Fail(statusOf(code), "the server closed the WebSocket: "+describe(code, payload))
}

// noCode stands for a close frame without a code (section 7.4.1).
const noCode = 1005

// closeCode returns the code of a close frame, or what is wrong with it. Codes below 3000
// must be registered ones; the rest are for libraries and applications.
func closeCode(payload []byte) (code uint16, wrong string) {
	if len(payload) == 0 {
		return noCode, ""
	}
	if len(payload) == 1 {
		return 0, "with half a code"
	}
	code = uint16(payload[0])<<8 | uint16(payload[1])
	switch {
	case code >= 3000 && code < 5000, code >= 1007 && code <= 1014, code >= 1000 && code <= 1003:
		return code, ""
	}
	return 0, "with the code " + strconv.Itoa(int(code)) + ", which none may have"
}

// statusOf returns the status for a code, which tells the host whether to connect again.
func statusOf(code uint16) abi.Status {
	switch code {
	case 1002, 1003, 1007, 1010:
		return abi.ProtocolFailed
	case 1008, 3003:
		return abi.Denied
	case 3000:
		return abi.Unauthorized
	case 1009:
		return abi.TooLarge
	case 1011, 1012, 1013, 1014:
		return abi.Unavailable
	case 3008:
		return abi.TimedOut
	}
	return abi.Closed
}

// meaning describes a registered code for people.
func meaning(code uint16) string {
	switch code {
	case 1000:
		return "it is done"
	case 1001:
		return "it is going away"
	case 1002:
		return "it found an error in the protocol"
	case 1003:
		return "it does not accept this kind of data"
	case 1007:
		return "it found a text that is not what it should be"
	case 1008:
		return "against its policy"
	case 1009:
		return "the message was too long for it"
	case 1010:
		return "it expected an extension"
	case 1011:
		return "it met an error of its own"
	case 1012:
		return "it restarts"
	case 1013:
		return "it asks to try again later"
	case 1014:
		return "a server behind it gave a wrong answer"
	case 3000:
		return "it wants a sign-in"
	case 3003:
		return "it does not allow this"
	case 3008:
		return "it ran out of time"
	}
	return ""
}

// describe returns a code and its reason, for people: "1001 (it is going away): bye".
func describe(code uint16, payload []byte) string {
	if code == noCode {
		return "it gave no reason"
	}
	text := strconv.Itoa(int(code))
	if m := meaning(code); m != "" {
		text += " (" + m + ")"
	}
	reason := printable(string(payload[2:]))
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// printable removes the characters that are not fit for a line on a terminal.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if strconv.IsPrint(c) {
			return c
		}
		return -1
	}, s))
}
