// Command sse is the transport plugin for servers of the first revision,
// 2024-11-05: HTTP+SSE, one event stream in and a POST for each message out.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &transport{}) }

func main() {}

var manifest = abi.Manifest{
	Name:        "sse",
	Version:     "0.1.0",
	Summary:     "MCP over HTTP+SSE, as of 2024-11-05",
	Grants:      []abi.Grant{{Kind: abi.OpenHTTP, Name: "main"}},
	Cancel:      abi.CancelByMessage,
	Unsolicited: true,
}
