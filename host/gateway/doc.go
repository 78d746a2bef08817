// Package gateway serves MCP clients that reach the servers of a host through this program. A client
// of either era reaches a server of either era, requests of the server included.
//
// # The way of a message
//
//	client ─► transport plugin, serving ─► rpc.Peer ─► clientConn ─► legacyClient or modernClient
//	                                                                   │ upstream, one for each client and server
//	                                                                   ▼
//	                                             serverCopy, of one client or of several that share it
//	                                                                   ▼
//	                                           host.Session.Relay ─► session ─► rpc.Peer ─► transport plugin ─► server
//
// The result goes back the same way, as the bytes that the server wrote. A request of the server
// comes up through onRequest of its upstream's client, a notification through onNotification.
//
// Only a clientConn knows how the messages of a client travel; to the client it is a [clientChannel].
// The first request decides the era of a clientConn: initialize begins the legacy era, and a request that
// names a modern revision in its _meta the modern one.
//
// Over HTTP, see http.go, a legacy client is a clientConn too, and the responses to its requests are the
// exchanges of its peer. A modern client has no clientConn: each response is the channel of its request.
//
// A client of all servers as one is an [aggregate]: it has a legacyClient or a modernClient of its own
// for each server that it uses, and translates names before and behind them (names.go, qualify.go).
// What it lists is what a gateway knows of its servers, started or not (lists.go).
//
// # What is told apart
//
//   - Within one era, params, results and errors pass byte for byte, except line breaks and the
//     members of _meta that the protocol defines.
//   - A legacy client of a modern server: the session fulfils what the results of the server ask for
//     (host.Relay.Fulfil), by requests to the client.
//   - A modern client of a legacy server: a request of the server parks a call of the client, see
//     calltable.go and state.go.
//   - Changes of lists and resources: subscriptions.go for legacy clients, listen.go for modern ones.
//     Both use host.Subscription, which subscribes again after a reconnect.
//   - Several clients of one session: servercopy.go finds the client that a message of the server is
//     for, copies.go decides which clients share, and tenant.go holds what each client keeps for itself.
//   - A sign-in within a call: the client of the call shows the page, see [Person].
//   - Who is there, and who is told when the rules about them change: presence.go.
//   - Progress: what a side reports before it answers a request comes before the answer, with the token
//     of the side that asked. What it reports later comes before the answer too, or not at all.
//   - Log levels: logs.go. Other differences between the eras: translate.go.
//
// # What runs where
//
// Each request of a client runs on a goroutine of its own. It waits for an initialize and for
// cancellations that came before it (order.go), and is passed on after the messages that came before it
// (turns.go). No goroutine holds a lock while it waits for a server or a client. A call of a modern
// client to a legacy server has another goroutine, because it outlives the request that began it. When
// a client leaves, its calls are cancelled, and the sessions that no other client uses are closed.
// Clients that share a session hear its notifications on a goroutine each (eventqueue.go).
package gateway
