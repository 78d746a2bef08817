// Package sdk is what the author of a transport plugin in Go imports.
//
// A transport is a type with three methods, registered together with its
// manifest, and an empty main:
//
//	type pigeon struct {
//		loft  sdk.Handle
//		lines framing.Lines
//	}
//
//	func init() {
//		sdk.Register(abi.Manifest{
//			Name:        "carrier-pigeon",
//			Version:     "1.0.0",
//			Grants:      []abi.Grant{{Kind: abi.OpenStream, Name: "main"}},
//			Unsolicited: true,
//		}, &pigeon{})
//	}
//
//	func main() {}
//
//	func (p *pigeon) Open(c *sdk.Conn, s *abi.Settings) (err error) {
//		p.loft, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
//		return err
//	}
//
// It is built by the ordinary toolchain:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o pigeon.wasm .
//
// A guest is a state machine. The host enters it with one event, the guest
// makes some host calls and returns; it never waits for anything. Goroutines
// and timers of the Go runtime only run while an event is being handled, so a
// transport uses neither: [Conn.Timer] asks the host for a TIMER event.
//
// Message bytes stay with the host. A [Payload] is a window on the bytes of
// the current event, and a transport says what is to be done with them: find
// a byte, deliver this part as a message, forward that part to a handle. It
// copies bytes into its own memory only to look at them. A transport that
// keeps to windows and to buffers in its own struct allocates nothing per
// message, and then a guest stays as small as it started.
//
// The same source runs natively: package sdktest drives a transport with a
// scripted host, in parallel and under the race detector, since nothing here
// keeps the host in a global. The normative text of the contract is the
// documentation of package abi.
package sdk
