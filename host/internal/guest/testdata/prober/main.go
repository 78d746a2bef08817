// Command prober is a transport that sends whatever request a message spells, and
// keeps all that it hears. It is built by the tests of package guest.
//
// A message is a method, a target, and headers as name:value, with spaces between
// them.
package main

import (
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() {
	sdk.Register(abi.Manifest{
		Name: "prober", Version: "0", Grants: []abi.Grant{{Kind: abi.OpenHTTP, Name: "main"}},
	}, &prober{of: map[sdk.Handle]uint32{}})
}

func main() {}

type prober struct {
	conn *sdk.Conn
	of   map[sdk.Handle]uint32 // exchanges
	loot [][]byte
}

func (p *prober) Open(c *sdk.Conn, _ *abi.Settings) error {
	p.conn = c
	c.Up()
	return nil
}

func (p *prober) Message(m sdk.Message) (sdk.Outcome, error) {
	words := strings.Fields(string(m.Bytes()))
	r := abi.OpenRequest{Grant: "main", Method: words[0], Target: words[1]}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, ":")
		r.Headers = append(r.Headers, abi.Pair{Key: name, Value: value})
	}
	h, err := p.conn.Open(abi.OpenHTTP, m.Exchange, &r)
	if err != nil {
		return m.Fail(abi.Denied, err.Error())
	}
	p.of[h] = m.Exchange
	h.Write(nil, abi.End)
	return sdk.Later, nil
}

func (p *prober) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventHead, abi.EventData, abi.EventEnd, abi.EventError:
	case abi.EventClose:
		p.conn.Ended()
		return nil
	default:
		return nil
	}
	p.loot = append(p.loot, e.Bytes())
	exchange := p.of[e.Handle]
	switch {
	case e.Kind == abi.EventError:
		p.conn.Failed(exchange, e.Status(), string(e.Bytes()))
	case e.Kind == abi.EventEnd || e.Last():
		p.conn.Done(exchange)
	}
	return nil
}
