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
//   - Within one era params, results and errors pass byte for byte, except line breaks and the
//     members of _meta that are the protocol's own.
//   - A legacy client of a modern server: the session fulfils what the results of the server ask for
//     (host.Relay.Fulfil), by requests to the client.
//   - A modern client of a legacy server: a request of the server parks a call of the client, see
//     calltable.go and state.go.
//   - Lists and resources that change: subscriptions.go for legacy clients, listen.go for modern ones. Both
//     stand on host.Subscription, which subscribes again when the server was connected anew.
//   - Several clients of one session: servercopy.go says whose a message of the server is, copies.go
//     who shares, tenant.go what stays a client's own.
//   - A sign-in within a call is shown by the client of the call, see [Person].
//   - Log levels: logs.go. All else that differs between the eras: translate.go.
//
// # What runs where
//
// Each request of a client runs on a goroutine of its own. It waits for an initialize and for
// cancellations that came before it (order.go), and is passed on after the messages that came before
// it (turns.go). No lock is held while a server or a client is waited
// for. A call of a modern client to a legacy server has another goroutine, because
// it outlives the request that began it. When a client leaves, its calls are cancelled, and the
// sessions that no other client uses are closed. Clients that share a session hear its notifications on
// a goroutine each (eventqueue.go).
package gateway
