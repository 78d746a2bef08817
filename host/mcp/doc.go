// Package mcp holds the vocabulary of the Model Context Protocol: the names,
// codes and shapes that travel in its messages. It has no behaviour beyond
// reading and writing those shapes, and it imports nothing but the standard
// library, so every other package may import it.
//
// The protocol has two eras. The legacy era (revisions 2024-11-05 to 2025-11-25) opens with an
// initialize handshake and lets servers send requests to clients. The modern era (revision
// 2026-07-28) has no handshake: every request describes itself in its _meta, and servers only
// answer. The comment of a name says if it belongs to one era alone.
//
// A value stays a [json.RawMessage] if the specification leaves it open, or if a host need not
// look into it: schemas, capabilities, structured results and metadata come out exactly as the
// server wrote them.
//
// References such as "2025-11-25/basic/lifecycle" name pages of
// https://modelcontextprotocol.io/specification.
package mcp
