// Package certtest has an authority that issues certificates for tests.
package certtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Authority issues certificates. Its functions panic where they cannot.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// New returns an authority that nothing trusts.
func New() *Authority {
	a := &Authority{key: newKey(), cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	a.cert = parse(must(x509.CreateCertificate(rand.Reader, a.cert, a.cert, a.key.Public(), a.key)))
	return a
}

// Issue returns a certificate like template. What that leaves out is added: an hour of validity, and the
// use as a client.
func (a *Authority) Issue(template x509.Certificate) tls.Certificate {
	template.SerialNumber = must(rand.Int(rand.Reader, big.NewInt(1<<60)))
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if template.NotBefore.IsZero() {
		template.NotBefore = time.Now().Add(-time.Hour)
	}
	if template.ExtKeyUsage == nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	key := newKey()
	der := must(x509.CreateCertificate(rand.Reader, &template, a.cert, key.Public(), a.key))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: parse(der)}
}

// IssueLocal returns a certificate of the server localhost.
func (a *Authority) IssueLocal() tls.Certificate {
	return a.Issue(x509.Certificate{DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

// Pool has the certificate of the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// WriteTo writes the certificate of the authority into a file in a folder, and returns its path.
func (a *Authority) WriteTo(folder string) (file string) {
	return write(filepath.Join(folder, "authority.pem"), "CERTIFICATE", a.cert.Raw)
}

// WriteTo writes a certificate and its key into files in a folder, which begin with name, and returns
// their paths.
func WriteTo(folder, name string, c tls.Certificate) (cert, key string) {
	cert = write(filepath.Join(folder, name+".pem"), "CERTIFICATE", c.Certificate[0])
	return cert, write(filepath.Join(folder, name+".key"), "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(c.PrivateKey)))
}

func write(file, kind string, der []byte) string {
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		panic(err)
	}
	return file
}

func newKey() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func parse(der []byte) *x509.Certificate { return must(x509.ParseCertificate(der)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
