package dial

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// TLS holds how a server proves its identity and which certificate the client shows. It belongs to
// an [httpclient.Origin] or a [stream.Address]. The zero value trusts the certificate authorities
// of the system.
type TLS struct {
	CAFile   string // PEM; trusted in addition to the system's
	CertFile string // PEM; our own certificate, with KeyFile
	KeyFile  string
	Name     string // the name in the server's certificate, if it is not the dialled host
}

// Config reads the files. It sets the server's name only if that differs from the address.
func (t TLS) Config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.Name}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the CA file %s: %w", t.CAFile, capability.Cause(err))
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the CA file %s holds no certificate in PEM form", t.CAFile)
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil && isEncrypted(t.KeyFile) {
			return nil, fmt.Errorf("the key %q is encrypted; expected one without a passphrase, which `openssl pkey -in FILE -out FILE` writes", t.KeyFile)
		}
		if err != nil {
			return nil, fmt.Errorf("read the client certificate %q and its key %q: %w", t.CertFile, t.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Check returns what is wrong with the files: Config returns an error, the client's certificate has expired, or all of
// those of the CA file have.
func (t TLS) Check() error {
	config, err := t.Config()
	if err != nil {
		return err
	}
	if end := lastOf(t.CAFile); !end.IsZero() && time.Now().After(end) {
		return fmt.Errorf("the certificates of the CA file %q have expired, the last at %s; have the new one from who runs the server", t.CAFile, end.UTC().Format(time.DateTime))
	}
	if len(config.Certificates) == 0 {
		return nil
	}
	if end := config.Certificates[0].Leaf.NotAfter; time.Now().After(end) {
		return fmt.Errorf("the client certificate %q has expired at %s; its authority has to renew it", t.CertFile, end.UTC().Format(time.DateTime))
	}
	return nil
}

// lastOf returns when the last certificate of a file expires; zero if there is none.
func lastOf(name string) (end time.Time) {
	text, err := os.ReadFile(name)
	for block, rest := pem.Decode(text); err == nil && block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && cert.NotAfter.After(end) {
			end = cert.NotAfter
		}
	}
	return end
}

// isEncrypted reports whether a file holds a key that takes a passphrase.
func isEncrypted(name string) bool {
	text, err := os.ReadFile(name)
	for block, rest := pem.Decode(text); err == nil && block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" { // PKCS 8, and the older form of OpenSSL
			return true
		}
	}
	return false
}

// ExplainTLS adds to an error of a handshake what the user should check.
func ExplainTLS(err error) error {
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return fmt.Errorf("the server does not speak TLS; is its address tcp:…? (%w)", err)
	case errors.As(err, &unknown):
		return ExplainCertificate(unknown)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the server closed the connection in the handshake: %w", err)
	}
	return Explain(err)
}

// ExplainCertificate adds to the error of an invalid certificate what the user should check.
func ExplainCertificate(e *tls.CertificateVerificationError) error {
	var invalid x509.CertificateInvalidError
	switch errors.As(e, &invalid); {
	case errors.As(e, new(x509.HostnameError)):
		return &certificateError{e, `if that is the server, write the name of its certificate in its entry: tls = { name = "…" }`}
	case invalid.Cert != nil && invalid.Reason == x509.Expired:
		return &certificateError{e, "if the clock of this machine is right, the server has to renew it"}
	case invalid.Cert != nil && invalid.Reason == x509.IncompatibleUsage:
		return &certificateError{e, "it is not made for a server, which needs another"}
	}
	return &certificateError{e, `if the certificate is right, name its authority's file in the entry of the server: tls = { ca = "…" }`}
}

// certificateError says what is wrong with a certificate and what the user should check.
type certificateError struct {
	err    *tls.CertificateVerificationError
	advice string
}

func (e *certificateError) Error() string { return e.err.Err.Error() + "; " + e.advice }
func (e *certificateError) Unwrap() error { return e.err }
