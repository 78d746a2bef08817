// Package oauth lets clients of a gateway in that have an access token of an OAuth issuer. It is a
// resource server of RFC 9728, as MCP wants it: a request without a token is told where the metadata
// of the gateway are, these name the issuer, and the client comes back with a token that the issuer has
// made out for the gateway.
//
// A token is a JWT (RFC 9068) that counts by itself. It is used to find out who the principal is, and
// goes nowhere: no server, plugin, trace or log is shown it.
package oauth
