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
// I/O and no call blocks (see package step, the contract). A method of [Flow] that
// has an answer ends the step. When the answer is there, the next step runs SignIn
// again from its first line: calls whose answers are known return them at once, and
// the flow goes on at the call that waited. So SignIn must do the same each time
// that it gets the same answers. Time and randomness come from the flow, and are
// the same in each run. The variables of a provider are not: they are lost when the
// host takes another instance. [Once] keeps a short result in place of the long
// answers that led to it.
//
// An instance serves one server entry, and a record one origin. So a provider that
// several servers use cannot hand anything from one to another ("One server" in
// package step).
//
// A provider names in the Wants of its manifest what it uses, and the user grants
// it. Origins names the origins that are known beforehand. Discover is for origins
// that are a setting, or that the provider learns of on the way: with it, the
// provider may call every public https origin, and the user can grant any other by
// its name (`wharf plugin grant corp https://sso.corp.example`). An origin that
// neither covers cannot be granted.
//
// A provider is built like a transport, with GOOS=wasip1 GOARCH=wasm go build
// -buildmode=c-shared. In tests, [Step] runs it natively, and package authtest runs
// a whole flow of it.
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
