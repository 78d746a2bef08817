// Package auth is what the author of an auth provider imports. A provider is a
// type with one method, and an empty main:
//
//	type keyring struct{}
//
//	func init() {
//		auth.Register(auth.Manifest{Name: "corp", Version: "1.0.0", Wants: …}, keyring{})
//	}
//
//	func (keyring) SignIn(f *auth.Flow) error {
//		answer, err := f.HTTP(auth.HTTP{Method: "POST", URL: "https://sso.corp.example/token"})
//		if err != nil {
//			return err
//		}
//		…
//		f.Credentials(auth.Credentials{Scheme: "Bearer", Token: token, ExpiresAt: until})
//		return nil
//	}
//
//	func main() {}
//
// It reads like a program that calls and waits. In truth a provider performs no
// I/O and no call blocks (see package step, the contract): each of the methods of
// [Flow] that has an answer ends the step, and the next step runs SignIn anew from
// its first line, with the answers it had so far, until it comes to the line that
// waits. So SignIn must do the same each time that it gets the same answers. Time
// and randomness come from the flow, and are the same again. What a provider keeps
// in variables of its own is not, and is lost when the host takes another
// instance. An instance serves one server entry, and a record one origin: a
// provider that several servers use cannot hand anything from one to another ("One
// server" in package step). What is long to read and short to remember goes
// through [Once].
//
// What a provider calls is in the Wants of its manifest, and a user grants it: an
// origin that is known beforehand is named in Origins; where it is a setting, or is
// learned of on the way, Discover lets the host reach every public https origin, and
// lets the user grant any other by its name (`wharf plugin grant corp
// https://sso.corp.example`). What is neither cannot be granted.
//
// Built like a transport, with GOOS=wasip1 GOARCH=wasm go build
// -buildmode=c-shared; [Step] runs the same provider natively, and package
// authtest a whole flow of it, for tests.
package auth

import "github.com/wharf-mcp/wharf/abi/step"

// The data of the contract, which `go doc abi/step` describes, with the fields of each.
type (
	Manifest    = step.Manifest    // has ABI, Name, Version, About, Settings, Wants
	Setting     = step.Setting     // has Key, Kind, About, Required, Secret
	Wants       = step.Wants       // has Origins, Discover, Browser, Prompt, Run, Keys, Requests, Body, Material
	Start       = step.Start       // has Reason, Interactive, Browser, Server, Settings, Challenge, Client
	Server      = step.Server      // has Name, URL, Resource, Revision, Variables, Blob
	Challenge   = step.Challenge   // has Status, Authenticate, Token
	RecordKey   = step.RecordKey   // has Name, Issuer, Resource, Client
	HTTP        = step.HTTP        // has Method, URL, Headers, Body, Redirects, DPoP
	Response    = step.Response    // has Status, URL, Headers, Body
	Listen      = step.Listen      // has Host, Port, Path
	Prompt      = step.Prompt      // has Label, Hint, Secret
	RunResult   = step.RunResult   // has Code, Stdout, Stderr
	Key         = step.Key         // has Do, Name, Alg, PEM
	PublicKey   = step.PublicKey   // has JWK, Thumbprint
	Sign        = step.Sign        // has Key, Header, Claims
	Show        = step.Show        // has URL, Code, Complete
	Credentials = step.Credentials // has Scheme, Token, DPoP, Headers, ExpiresAt
	Material    = step.Material    // has Env, Blob
	Request     = step.Request     // has Method, URL, Headers, BodySHA256, Body
	Problem     = step.Problem     // has Code, Text
)

// The reasons of a start, and when each of them is given: see package step.
const (
	ReasonInitial    = step.ReasonInitial
	ReasonExpired    = step.ReasonExpired
	ReasonChallenged = step.ReasonChallenged
	ReasonUpscope    = step.ReasonUpscope
	ReasonLogin      = step.ReasonLogin
	ReasonLogout     = step.ReasonLogout
)
