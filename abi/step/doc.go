// Package step is the contract between Wharf and an auth provider: what a
// provider must export, and the JSON that goes in and out. It is data only: its functions
// do no more than keep the data in bounds.
//
// # The provider
//
// A provider is a WebAssembly module that any Extism PDK can build. It exports
//
//	wharf_auth_describe   input: nothing            output: Manifest
//	wharf_auth_step       input: Call{state, event} output: Reply{state, actions}
//
// and imports Extism's kernel, WASI if its language wants it, and nothing else.
// Extism's own HTTP, files and variables are off.
//
// A provider performs no I/O. It is asked to sign in to one server, says which
// actions the host shall take, and is called again with the results. So
// no call blocks, a flow survives the loss of the instance between two steps,
// and a test is a table. The state is whatever the provider wants to remember
// within a flow: the host hands it back unread, keeps it out of logs and files,
// and forgets it when the flow is over. What shall outlive the flow goes to the
// vault, by [Store].
//
// # One server
//
// One provider may sign in to several servers, and each of them has the provider to
// itself. An instance that has taken a step for one server entry takes no step for
// another, so what a provider keeps in its memory never meets another server. A
// record belongs to the URL of a server, or to the server entry where there is no
// URL, whether its key names a resource or not ([RecordKey]). A provider can so
// share a login among the entries of one URL, and cannot share one between two
// URLs: the person signs in once for each. What servers can share is one type of
// record, a [Registration] at an issuer, and only where the host grants that; Wharf
// grants it to the providers that it brings along.
//
// # A step
//
// A [Reply] lists actions in the order in which the host takes them. At most one
// of them awaits an event, and that one is last:
//
//	action        awaits                 what the host does
//	load          loaded                 reads a record of the vault; with lock, first takes the record's lock
//	store         stored                 writes a record, waits until the disk has it, and unlocks it
//	forget        stored                 removes a record, if it is still the one that was loaded, and unlocks it;
//	                                     if the flow has not loaded it, removes it in any case
//	http          http_response          one exchange, under the provider's grant
//	listen        listening              opens the callback on the loopback interface
//	open_browser  redirect               shows a page to the person and waits until it comes back to the callback
//	prompt        input                  asks the person
//	run           run_result             runs the command of the server entry
//	key           key                    makes, opens or imports a private key, which stays in the host
//	sign          signed                 signs with such a key
//	wait          timer                  sleeps
//	show          nothing                shows a code and where to type it
//	credentials   nothing                what requests to the server carry from now on
//	material      nothing                what reaches a server that is not spoken to by HTTP
//	done          nothing, ends the flow
//	fail          nothing, ends the flow
//
// A reply without an awaiting action must end the flow. An awaited action that
// cannot be taken comes back as its event with a [Problem]; what breaks the
// contract (an unknown action, another provider's record, an origin outside the
// grant) ends the flow, and the error names the provider.
//
// Every event carries the time and 32 fresh random bytes, so that a provider
// needs neither clock nor randomness of its own.
//
// # When the host asks
//
// A flow begins with a start event, whose reason is one of
//
//	initial     the first request, a process about to be started, or other settings than those of
//	            what a server has refused; nothing is wrong yet
//	expired     the credentials have expired, or will within the minute
//	challenged  the server answered 401; the challenge is there
//	upscope     the server answered 403 with insufficient_scope; the challenge is there
//	login       the person asked to sign in, whatever is saved
//	logout      the person asked to sign out: revoke and forget
//
// and says whether a person can be asked (interactive). A flow that needs a person
// and cannot ask one fails with class login. A flow that ends with done and without
// credentials lets requests go as they are: that is right for initial, where a
// server may not want any. A server that is a process or a stream has no way to ask
// (there is no challenge), so there the same flow says that a sign-in is missing:
// a person, if there is one, is asked by a flow with the reason login.
//
// A provider whose manifest says requests is also called once for each HTTP
// request, with a request event and the state that its flow ended with. It must
// answer with credentials and done, at once. It is not called while that state is
// empty ([HasState]): it has nothing to sign with then, so the request goes as it
// is, and a server that refuses it begins a flow with the reason challenged, which
// may fail with class login to have a person asked.
//
// A request event has the hash of the body, which is what most schemes sign. A provider
// whose scheme signs the body itself says body beside requests in its manifest, and gets
// its bytes, too. They are messages of the protocol, so the user has to allow it for each
// server (request_body = true in the auth table of the entry). Without that, and for a
// body of more than [MaxBody] bytes, the request fails, and is not sent unsigned.
//
// # Flows
//
// These are the flows that the contract was drawn from. Each line is a step:
// the event, then the actions.
//
// A bearer token out of the settings:
//
//	start initial        → credentials, done
//	start challenged     → fail config: the server does not take the token
//
// A helper program:
//
//	start initial, expired or challenged → run
//	run_result           → credentials {headers, expires_at}, done
//
// OAuth, with a saved login (records: binding is by resource, token by issuer,
// resource and client):
//
//	start initial        → load binding
//	loaded (nothing)     → done
//	loaded               → load token
//	loaded (fresh)       → credentials, done
//	loaded (stale)       → load token, locked
//	loaded (fresh now)   → credentials, done      another process was faster
//	loaded (still stale) → http refresh           by the lock, the only one under way
//	http_response 200    → store token
//	stored               → credentials, done
//	http_response invalid_grant → forget token, if it is the one that was sent
//	stored               → done; the request will be challenged
//	http_response 5xx or problem → fail retry; nothing is forgotten
//
// OAuth, authorization code:
//
//	start challenged     → load binding; then the lines above, if the token is not the one that was refused
//	                     → http protected resource metadata (one or two places)
//	http_response        → http authorization server metadata (up to three places)
//	http_response        → not interactive: fail login
//	                     → load registration, by issuer
//	loaded               → listen
//	listening            → http register, if there is no client id by now, and store registration
//	                     → open_browser
//	redirect             → iss is checked, then http token
//	http_response        → store token; load binding, locked; store binding
//	stored               → revoke and forget the token of a sign-in that ended meanwhile, if there was one
//	stored               → credentials, done
//
// Step-up is the same flow with the old scopes and those of the challenge. A
// device code differs after the metadata:
//
//	                     → http device authorization
//	http_response        → show {url, code}, wait
//	timer                → http token
//	http_response authorization_pending → wait
//	http_response 200    → store token, and on as above
//
// Client credentials, with a secret or with a key:
//
//	start challenged     → metadata as above
//	                     → key import; sign assertion     (private_key_jwt)
//	signed               → http token
//	http_response        → store token, and on as above
//
// Enterprise-managed authorization and workload identity exchange one token for
// another before (RFC 8693, RFC 7523); each exchange is one http action. DPoP
// (RFC 9449) adds a key action before the first token request, and a proof to
// that request and to the credentials. The host makes each proof and keeps the
// nonces; a token request that is answered with use_dpop_nonce is sent again.
//
// A signer of requests (AWS SigV4 and its kin):
//
//	start initial        → done, state holds the signing key
//	request              → credentials {headers}, done
//
// The same where a person has to bring the key:
//
//	start initial        → load key
//	loaded (nothing)     → done, no state; the request goes unsigned
//	start challenged     → not interactive: fail login
//	start challenged     → interactive: prompt
//	input                → store key
//	stored               → done, state holds the key
//	request              → credentials {headers}, done
package step
