package gateway

import (
	"net/http"
	"time"
)

// Certificate is a [Config].Principal that accepts requests over TLS with a certificate of the client. The
// server of HTTP must have verified that, as with [crypto/tls.RequireAndVerifyClientCert]. The
// principal is the only subject alternative name of the certificate: a URI, a DNS name or an email
// address.
func Certificate(r *http.Request) (principal string, err error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return "", forbidden("the client has shown no certificate")
	}
	cert := r.TLS.PeerCertificates[0]
	if time.Now().After(cert.NotAfter) { // the connection may be older
		return "", forbidden("the certificate of the client has expired: connect anew with another")
	}
	names := append(append([]string{}, cert.DNSNames...), cert.EmailAddresses...)
	for _, u := range cert.URIs {
		names = append(names, u.String())
	}
	if len(names) != 1 || len(cert.IPAddresses) > 0 || names[0] == "" {
		return "", forbidden("the certificate of the client needs exactly one subject alternative name: a URI, a DNS name or an email address")
	}
	return names[0], nil
}

// forbidden is the refusal of a client that no header could help.
func forbidden(why string) error { return &Refusal{Status: http.StatusForbidden, Why: why} }
