// Command variant is a transport over the streams of a process that does what its
// build says: it is built by the tests of package record, more than once.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

var newline = abi.PackNeedles("\n")

// build is set by the linker.
var build string

func init() {
	sdk.Register(abi.Manifest{
		Name: "variant", Version: build, Settings: []abi.Pair{{Key: "token", Value: build}},
		Grants: []abi.Grant{{Kind: abi.OpenProcess, Name: "main"}},
	}, &variant{})
}

func main() {}

type variant struct {
	conn    *sdk.Conn
	process sdk.Handle
	heard   int
}

func (v *variant) Open(c *sdk.Conn, s *abi.Settings) (err error) {
	v.conn = c
	v.process, err = c.Open(abi.OpenProcess, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	return err
}

func (v *variant) Message(m sdk.Message) (sdk.Outcome, error) {
	switch build {
	case "xor":
		v.process.Write(veiled(m.Bytes()), 0)
	case "copy":
		v.process.Write(m.Bytes(), 0)
	case "twice":
		v.process.Forward(m.Payload, 0)
		v.process.Forward(m.Payload, 0)
	default:
		v.process.Forward(m.Payload, 0)
	}
	switch build {
	case "crlf":
		v.process.Write([]byte("\r\n"), 0)
	case "open":
	default:
		v.process.Write([]byte("\n"), 0)
	}
	if build == "later" {
		return sdk.Later, nil
	}
	return sdk.HandedOver, nil
}

// veiled makes other bytes of a message, as a WebSocket mask does.
func veiled(p []byte) []byte {
	for i := range p {
		p[i] ^= 0x55
	}
	return p
}

func (v *variant) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventOpened:
		v.conn.Up()
	case abi.EventData:
		v.data(e)
	case abi.EventClose:
		v.process.Close()
		v.conn.Ended()
	}
	return nil
}

func (v *variant) data(e sdk.Event) {
	v.heard++
	switch build {
	case "spin":
		for v.heard >= 0 {
			v.heard++
			v.heard %= 1 << 20
		}
	case "logs":
		v.conn.Log(abi.LevelInfo, "it heard something")
	case "looks":
		e.Bytes()
	}
	for rest := e.Payload; rest.Len() > 0; {
		at := rest.Scan(newline)
		if at < 0 {
			rest.Deliver(0, 0)
			return
		}
		rest.Slice(0, at).Deliver(0, abi.End)
		rest = rest.From(at + 1)
	}
}
