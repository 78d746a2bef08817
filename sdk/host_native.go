//go:build !wasip1

package sdk

import "github.com/wharf-mcp/wharf/abi"

// Register makes t the transport of this plugin. It is called once, from an
// init function of package main. Outside a sandbox there is no host to
// register with, so a native build drops t: its tests make as many guests as
// they like with [NewGuest].
func Register(abi.Manifest, Transport) {}
