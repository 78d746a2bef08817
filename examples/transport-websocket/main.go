// Command transport-websocket is a transport plugin: MCP over WebSocket (RFC
// 6455), one JSON text in each text message, under the subprotocol mcp. README.md says
// how to build and use it.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &transport{fill: fill}) }

func main() {}

var manifest = abi.Manifest{
	Name:        "websocket",
	Version:     "1.1.0",
	Summary:     "MCP over WebSocket",
	Grants:      []abi.Grant{{Kind: abi.OpenHTTP, Name: "main"}},
	Cancel:      abi.CancelByMessage,
	Unsolicited: true,
}
