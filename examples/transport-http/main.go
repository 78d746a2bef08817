// Command http is the transport plugin for servers at an http or https address:
// Streamable HTTP, of the era with sessions and of the one without.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &transport{}) }

func main() {}

var manifest = abi.Manifest{
	Name:        "http",
	Version:     "0.1.0",
	Summary:     "MCP over Streamable HTTP",
	Grants:      []abi.Grant{{Kind: abi.OpenHTTP, Name: "main"}},
	Cancel:      abi.CancelByStream,
	Probe:       abi.ProbeHTTP,
	Unsolicited: true,
}
