// Package egress makes the network requests of auth providers and the plugin store, which perform
// no I/O themselves. A [Fetcher] makes requests within a [Policy], a [Callback] receives the
// browser after a sign-in, and [OpenBrowser] shows a page. Package capability makes the connections
// of transports.
package egress
