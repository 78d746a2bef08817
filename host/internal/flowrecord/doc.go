// Package flowrecord records the flows of auth providers and replays them. A provider performs no
// I/O: the same events lead to the same actions. So a list of events and actions is enough to
// replay a sign-in without a network, a person or a vault, and to compare another build of the
// provider.
//
// # Secrets
//
// A flow that is recorded has been run twice. The first run is the real one. When it is
// over, every event is rewritten: each text in it that may be a secret becomes a stand-in,
// "stand-in-1", the same for the same text, and the random bytes become ones that are the
// same in each file. The second run gives these events to another instance of the provider.
// The file holds the events and the actions of the second run. So what a provider computes from a
// secret (a digest, a header in base64, a signature) is computed from its stand-in, and nothing in
// the file depends on the secret.
//
// A text is kept as it is only if it is known to be harmless: a setting that is not secret,
// a member of JSON or a parameter that the standards of OAuth define as public, an http URL
// (with stand-ins for the values of its query and for the parts of its path that look
// random), a header of a short list. Numbers in JSON, names of members and the shape of
// JSON, of a form and of a JWT stay. Any other text is a secret.
//
// If the second run does not ask for the same kinds of actions, or has a known secret in it,
// the flow is not recorded, and the user is told why.
//
// # The file
//
// A flow is one line of JSON. It ends with the SHA-256 of what stands before that member,
// so a line that was changed is refused. The line can be copied to a file of its own.
package flowrecord
