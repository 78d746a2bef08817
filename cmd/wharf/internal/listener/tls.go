package listener

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// TLS returns the settings of TLS of a server, whose certificate and key are in files. With clientCA, a
// file of authorities, a client needs a certificate of one of them. A certificate that is replaced
// in its file is used within a minute.
func TLS(cert, key, clientCA string) (*tls.Config, error) {
	c := &certificate{cert: cert, key: key}
	if err := c.load(); err != nil {
		return nil, err
	}
	config := &tls.Config{GetCertificate: c.get}
	if clientCA == "" {
		return config, nil
	}
	text, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, err
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", clientCA)
	}
	return config, nil
}

// CheckTLS returns what is wrong with files that [TLS] is to have: TLS would return an error, the certificate or each of
// the authorities has expired, or the certificate is for none of hosts, the names by which clients reach the server.
func CheckTLS(cert, key, clientCA string, hosts []string) error {
	config, err := TLS(cert, key, clientCA)
	if err != nil {
		return err
	}
	pair, err := config.GetCertificate(nil)
	if err != nil {
		return err
	}
	if end := pair.Leaf.NotAfter; time.Now().After(end) {
		return fmt.Errorf("the certificate has expired at %s", end.UTC().Format(time.DateTime))
	}
	if fits := func(host string) bool { return pair.Leaf.VerifyHostname(host) == nil }; len(hosts) > 0 && !slices.ContainsFunc(hosts, fits) {
		return fmt.Errorf("the certificate is for none of hosts: %s", strings.Join(hosts, ", "))
	}
	if clientCA == "" {
		return nil
	}
	return checkAuthorities(clientCA)
}

// checkAuthorities returns an error if each certificate of a file in PEM has expired.
func checkAuthorities(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var last time.Time
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if authority, err := x509.ParseCertificate(block.Bytes); block.Type == "CERTIFICATE" && err == nil && authority.NotAfter.After(last) {
			last = authority.NotAfter
		}
	}
	if time.Now().After(last) {
		return fmt.Errorf("the authority of clients in %s has expired at %s", file, last.UTC().Format(time.DateTime))
	}
	return nil
}

// reloadTime is how long a certificate is used until its file is looked at again.
const reloadTime = time.Minute

// certificate is a certificate and its key, in files that may be replaced.
type certificate struct {
	cert, key string // the files

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
}

// load reads the files.
func (c *certificate) load() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	var path *os.PathError
	if err != nil && !errors.As(err, &path) {
		return fmt.Errorf("%s with %s: %w", c.cert, c.key, err)
	}
	if err != nil {
		return err
	}
	c.current, c.looked = &pair, time.Now()
	return nil
}

// get returns the certificate for a handshake. While the files cannot be used, as in the middle of their
// replacement, it is the one before.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) > reloadTime && c.load() != nil {
		c.looked = time.Now()
	}
	return c.current, nil
}
