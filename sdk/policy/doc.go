// Package policy is what the author of a policy plugin imports. A policy is a function, and an empty main:
//
//	func init() {
//		policy.Register(policy.Manifest{Name: "readonly", Version: "1.0.0"}, decide)
//	}
//
//	func decide(c *policy.Call) policy.Verdict {
//		if c.Target == policy.Tool && !c.Hint("readOnlyHint", false) {
//			return policy.Denied("the tool may change something")
//		}
//		return policy.Allowed()
//	}
//
//	func main() {}
//
// A policy performs no I/O, and there is nothing that it could ask for: see package verdict, the contract. It
// is shown a call, and says whether it goes on. An instance may be lost after any call, and serves one caller,
// so variables are no place for what has to last.
//
// A policy is built like a transport, with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared. A test calls
// the function, or [Decide] for the JSON.
package policy
