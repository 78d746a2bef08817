// Package control serves the editors of a person: a program that loads plugins in its own language lists
// servers and their states, calls tools with progress and cancellation, answers forms and signs in, in
// JSON-RPC 2.0 on a stream of bytes. Messages are framed by lines or by Content-Length, whichever the
// editor begins with.
//
//	editor ─► transport plugin, serving ─► rpc.Peer ─► editor ─► methods.go ─► host.Session ─► server
//	editor ◄─ rpc.Peer ◄─ ask.go ◄─ callbacks of the host and of its sessions
//	editor ◄─ rpc.Peer ◄─ eventlog.go ◄─ states, changed lists, logs, warnings
//
// [Schema] has every message; docs/CONTROL.md explains them. The first request is initialize, which settles
// the version. A cancelled request is answered all the same, as in the language server protocol.
//
// Several editors share the servers of a [Control]. What a server asks goes to the editor whose call it
// is; what the host asks outside of a call goes to the one that asked last of those that can answer. A
// question that no editor can answer, or that none answers in time, is declined.
//
// Each editor reads the events at its own pace, from one log that is bounded; what it has missed it is
// told as a gap. No goroutine holds a lock while it waits for an editor or a server, save that a stream of
// events ends under [editor].telling, and that a configuration is applied under [Control].configuring.
//
// With a [Source] editors look at the configuration and change it (amend.go). What a person has to agree to
// is shown first: servers/add returns it, and servers/confirm writes exactly that; config/edit asks by
// approve. Servers reach none of this: what they ask ends in the callbacks of their client.
package control
