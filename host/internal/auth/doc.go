// Package auth signs in to servers. It runs auth providers, which are untrusted modules,
// and performs the actions that they ask for, as far as the user granted them. Package extism
// runs the modules.
//
//	Engine ── Load ──► Plugin        a provider: metered, compiled once, a few instances
//	                     │ ForAccount
//	                     ▼
//	                  Provider       the same for one account, with instances of its own
//	                     ▲ Step
//	Account ── flow ─────┘           the loop of steps of one sign-in
//	   │        └─ actions           vault, web, browser, person, command, keys
//	   └─ Apply, Challenge, Nonce    what the exchanges with one server call
//
// A provider performs no I/O; package step defines the contract. The host asks the provider what to
// do, does that, and asks again. An instance keeps nothing between two steps, so it can be
// discarded after any of them, and is discarded after an error.
//
// # What a provider may do
//
// A provider sees its settings, what it has stored itself, and the results of the actions
// that it asks for. It sees no message of the protocol, unless it signs the bytes of
// requests and the server entry grants them ([Grant].Body). It may ask for an action that
// both its manifest wants and its user granted ([Grant]). A provider that asks for more, or
// that violates the contract, ends its flow with an [*Error] that names it; other flows and
// other providers go on.
//
// # One account
//
// A provider serves one account. Two servers that name the same provider share its
// compiled code and the bounds of a Plugin, and nothing else: an instance runs the steps
// of one account, and a record is bound to the URL, socket or entry of the server. Only
// records of one type (step.Registration) can be shared, under a grant of their own
// ([Grant].Registrations). So a hostile provider, or one that a server has tricked, has
// nothing of another server to give away.
//
// # One flow at a time
//
// An [Account] runs one flow at a time, and every request and login that needs one waits for it.
// The flow does not end with its caller: a refresh always runs to its end, because the server may
// have used up a refresh token before the vault has the new one. Only the question to a person ends
// with the last login that waits for it.
//
// # Secrets
//
// States, records, credentials and keys are secrets: they are in no error, no log, and no
// file but the vault. Texts of a provider or server that reach a person are cleaned.
//
// # Files
//
// From types to operations: errors, config, reply, settings and manifest (what a provider
// says), keys, proof and credentials, plugin (modules), flow (one sign-in),
// records, keystore, web, person, browser and result (its actions), check and loop (its
// steps), account, run, apply and challenge.
package auth
