// Package verdict is the contract between Wharf and a policy: what a policy must export, and the JSON that
// goes in and out. It is data only.
//
// # The policy
//
// A policy is a WebAssembly module that any Extism PDK can build. It exports
//
//	wharf_policy_describe   input: nothing   output: Manifest
//	wharf_policy_decide     input: Call      output: Verdict
//
// and imports Extism's kernel, WASI if its language wants it, and nothing else. Extism's own HTTP, files
// and variables are off. It performs no I/O, and there is no action that it could ask for: all that leaves
// it is a verdict.
//
// # A call
//
// A policy is shown a call before the host makes it: who calls, which server, which method, and what the
// call is about. It is shown the arguments only if its table in the user's configuration says
// arguments = true. The annotations of a tool are those that the server gave; nothing proves them. They are
// absent if the server gave none, or if what it lists is not known.
//
// The same export decides what is listed: a Call with listed is about something in a list, not about a
// request. What a policy does not allow is not listed, except with ask: that is listed, and asked about when
// it is called. The host may remember a verdict about a list for a minute, and never one about a request.
//
// # A verdict
//
//	allow   the call goes on, if all other policies and rules allow it too
//	deny    it does not
//	ask     a person is asked; where none can be asked, it does not go on
//
// A verdict repeats the id of its call. The reason is shown to the user, cleaned and cut to [MaxReason] bytes.
// What breaks the contract (another id, an unknown verdict, an error, a trap, no answer in time) denies the
// call, and the error names the policy.
//
// # State
//
// An instance that has decided for one caller decides for no other, and may be discarded after any call. So
// a policy must not count on what it keeps in its memory, and what it keeps reaches no other caller.
package verdict
