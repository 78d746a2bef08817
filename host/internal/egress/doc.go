// Package egress is what auth providers and the plugin store use of the network. They
// perform no I/O themselves: a [Fetcher] makes their requests within a [Policy], a
// [Callback] is where a browser comes back to after a sign-in, and [OpenBrowser] shows
// a page. The connections of transports are not made here; see package capability.
package egress
