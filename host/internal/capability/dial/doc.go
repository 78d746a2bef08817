// Package dial connects: a [Dialer] closes every connection that it made and asks a
// [Guard] about each address, [TLS] holds the settings of a server entry, and [Explain]
// and [ExplainTLS] tell a user what an error is usually about.
package dial
