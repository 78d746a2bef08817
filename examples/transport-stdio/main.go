// Command stdio is the twin in Go of plugins/stdio, which is in C and ships with Wharf:
// it writes messages to a server's stdin and reads messages from its stdout.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &transport{}) }

func main() {}

var manifest = abi.Manifest{
	Name:    "stdio",
	Version: "0.1.0",
	Summary: "MCP over the stdin and stdout of a child process",
	Settings: []abi.Pair{{
		Key:   "framing",
		Value: "ndjson (the default), content-length, or auto to follow the server",
	}},
	Grants:      []abi.Grant{{Kind: abi.OpenProcess, Name: "main"}},
	Cancel:      abi.CancelByMessage,
	Probe:       abi.ProbeStdio,
	Unsolicited: true,
}
