// Package auth signs in to servers. It runs auth providers, which are modules
// that nobody has to trust, and does for them what they ask for within what the
// user granted. It is the only door to Extism.
//
//	Engine ── Load ──► Plugin        a provider: metered, compiled once, a few instances
//	                     │ ForAccount
//	                     ▼
//	                  Provider       the same for one account, with instances of its own
//	                     ▲ Step
//	Account ── flow ─────┘           the loop of steps of one sign-in
//	   │        └─ actions           vault, web, browser, person, command, keys
//	   └─ Apply, Challenge, Nonce    what the exchanges of one server see of it
//
// A provider performs no I/O (package step is the contract). It is asked what to
// do, the host does it, and the provider is asked again. So an instance is never
// in the middle of anything: it is used for one step and may be thrown away after
// it, and is, after any error.
//
// # Who may do what
//
// A provider sees its settings, what it has stored itself, and what comes of the
// actions that it asks for. It never sees a message of the protocol. What it may
// ask for is what its manifest wants and its user granted ([Grant]), both. A
// provider that asks for more, or that does not keep to the contract, ends its
// flow with an [*Error] that names it; other flows and other providers go on.
//
// # One account
//
// A provider serves one account. Two servers that name the same provider share its
// compiled code and the bounds of a Plugin, and nothing else: an instance takes the
// steps of one account, and a record is bound to the server's origin, socket or entry.
// What may be shared has a type of its own (step.Registration) and a grant of its own
// ([Grant].Registrations). So a provider that is hostile, or was talked into it by one
// server, has nothing of another server's to give away.
//
// # One flow at a time
//
// An [Account] runs one flow at a time, whoever needs it, and all who need it wait
// for that one. The flow belongs to none of them: when its caller leaves, a
// refresh goes on to its end, because the login would be lost between the server
// that has taken a refresh token and the vault that does not have the new one.
// Only the waiting for a person ends with those who wanted it.
//
// # Secrets
//
// What is in a state, a record, a credential or a key is a secret: it is in no
// error, no log and no file but the vault. Texts of a provider that reach a person
// are cleaned, as are those of a server.
package auth
