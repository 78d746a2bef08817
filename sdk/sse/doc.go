// Package sse is what the transports over HTTP share: [Reader] reads an event
// stream and delivers the messages in it, and [Refusal] makes a line for people
// of an answer that says no.
//
// A Reader is fed with the payloads of HEAD and DATA in order. It copies field
// names and what is short (ids, event names) into the guest; the data of an
// event, which can be megabytes, stay with the host. How the stream was cut into
// chunks makes no difference to what it delivers. Nothing here allocates once a
// reader has seen its longest id.
package sse
