// Command transport-nats is the transport plugin for servers behind a NATS server:
// requests are published to a subject that a fleet of servers shares, and answers
// come to an inbox of the connection. README.md says how to use it, and what a
// server has to do.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &transport{fill: fill}) }

func main() {}

const version = "0.1.0"

var manifest = abi.Manifest{
	Name:    "nats",
	Version: version,
	Summary: "MCP through a NATS server, to a fleet that shares the work",
	Settings: []abi.Pair{
		{Key: settingPrefix, Value: "the subjects of the servers begin with it: mcp.notes"},
		{Key: settingInbox, Value: "what inboxes begin with, where a user may not have all: _INBOX"},
	},
	Grants:      []abi.Grant{{Kind: abi.OpenStream, Name: "main"}},
	Cancel:      abi.CancelByStream,
	Unsolicited: true,
}

const (
	settingPrefix = "prefix"
	settingInbox  = "inbox"
)
