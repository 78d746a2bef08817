package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"aead.dev/minisign"
	"github.com/rogpeppe/go-internal/testscript"
)

// site serves a folder over TLS, from an authority that wharf knows: site FOLDER.
// The address is in $SITE.
func site(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: site FOLDER")
	}
	s := httptest.NewUnstartedServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	s.Config.ErrorLog = nil
	s.StartTLS()
	ts.Defer(s.Close)
	authority := ts.MkAbs("authority.pem")
	ts.Check(os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	ts.Setenv("SSL_CERT_FILE", authority)
	ts.Setenv("SITE", s.URL)
}

// signFile signs a file as a publisher whose key is made when they first sign: sign
// PUBLISHER FILE. Their key is in PUBLISHER.pub.
func signFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sign PUBLISHER FILE")
	}
	held := ts.MkAbs(args[0] + ".key")
	public, private, err := minisign.GenerateKey(nil)
	ts.Check(err)
	if text, err := os.ReadFile(held); err == nil {
		ts.Check(private.UnmarshalText(text))
		public = private.Public().(minisign.PublicKey)
	}
	text, err := private.MarshalText()
	ts.Check(err)
	ts.Check(os.WriteFile(held, text, 0o600))
	text, err = public.MarshalText()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".pub"), text, 0o600))
	r := minisign.NewReader(strings.NewReader(ts.ReadFile(args[1])))
	_, err = io.Copy(io.Discard, r)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1])+".minisig", r.SignWithComments(private, "as "+args[0], ""), 0o600))
}

// digest puts the SHA-256 of a file into a variable: digest VARIABLE FILE.
func digest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: digest VARIABLE FILE")
	}
	sum := sha256.Sum256([]byte(ts.ReadFile(args[1])))
	ts.Setenv(args[0], hex.EncodeToString(sum[:]))
}

// another makes another file of a plugin that does the same: another FILE.
func another(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: another FILE")
	}
	changed := append([]byte(ts.ReadFile(args[0])), 0, 2, 1, 'x')
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), changed, 0o600))
}
