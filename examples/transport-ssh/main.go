// Command transport-ssh is the transport plugin for servers behind a subsystem of
// ssh: it speaks to the system's own ssh client, which the server entry names, in
// lines of JSON. README.md says how to build and use it.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &transport{}) }

func main() {}

var manifest = abi.Manifest{
	Name:    "ssh",
	Version: "0.1.0",
	Summary: "MCP through a subsystem of the ssh client that the entry names",
	Settings: []abi.Pair{{
		Key:   "framing",
		Value: "ndjson (the default), content-length, or auto to follow the server",
	}},
	Grants:      []abi.Grant{{Kind: abi.OpenProcess, Name: "main"}},
	Cancel:      abi.CancelByMessage,
	Probe:       abi.ProbeStdio,
	Unsolicited: true,
}
