package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
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

// httpAnswer serves one answer to every request: http STATUS [HEADER…] [BODY]. A HEADER has a colon
// and a space in it. Status 0 is a server that takes connections and is silent, and 1 one that is
// asked for TLS. The address is in $ANSWER.
func httpAnswer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: http STATUS [HEADER…] [BODY]")
	}
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	if status < 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Defer(func() { l.Close() })
		ts.Setenv("ANSWER", []string{"http", "https"}[status]+"://"+l.Addr().String())
		return // the system takes the connections
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, word := range args[1:] {
			if key, value, ok := strings.Cut(word, ": "); ok {
				w.Header().Set(key, value)
			}
		}
		w.WriteHeader(status)
		if last := args[len(args)-1]; len(args) > 1 && !strings.Contains(last, ": ") {
			io.WriteString(w, last)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("ANSWER", s.URL)
}

// plainSite serves a folder without TLS: plainsite FOLDER. Its address, with https://
// all the same, is in $TLSLESS.
func plainSite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: plainsite FOLDER")
	}
	s := httptest.NewServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(s.Close)
	ts.Setenv("TLSLESS", strings.Replace(s.URL, "http://", "https://", 1))
}

// signFile signs a file as a publisher whose key is made when they first sign: sign
// PUBLISHER FILE [COMMENT]. Their key is in PUBLISHER.pub. That of the publisher slash
// has one in it.
func signFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: sign PUBLISHER FILE [COMMENT]")
	}
	comment := "as " + args[0]
	if len(args) == 3 {
		comment = args[2]
	}
	held := ts.MkAbs(args[0] + ".key")
	public, private, err := minisign.GenerateKey(nil)
	for err == nil && strings.Contains(public.String(), "/") != (args[0] == "slash") {
		public, private, err = minisign.GenerateKey(nil)
	}
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
	ts.Check(os.WriteFile(ts.MkAbs(args[1])+".minisig", r.SignWithComments(private, comment, ""), 0o600))
}

// keyOf puts the key of a publisher that has signed something into a variable: keyof
// VARIABLE PUBLISHER.
func keyOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keyof VARIABLE PUBLISHER")
	}
	var key minisign.PublicKey
	ts.Check(key.UnmarshalText([]byte(ts.ReadFile(args[1] + ".pub"))))
	ts.Setenv(args[0], key.String())
}

// restate makes another file of a plugin that says something else of itself, in as
// many bytes: restate FILE OLD NEW.
func restate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || strings.HasSuffix(args[0], ".wasm") && len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: restate FILE OLD NEW, of the same length in a plugin; \\n in NEW is a line break")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not say %s", args[0], args[1])
	}
	fresh := strings.ReplaceAll(args[2], `\n`, "\n")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], fresh)), 0o600))
}

// digest puts the SHA-256 of a file into a variable: digest VARIABLE FILE.
func digest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: digest VARIABLE FILE")
	}
	ts.Setenv(args[0], hashOf([]byte(ts.ReadFile(args[1]))))
}

// hashOf is the SHA-256 of a file, as plugins are named by it.
func hashOf(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// another makes another file of a plugin that does the same: another FILE.
func another(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: another FILE")
	}
	changed := append([]byte(ts.ReadFile(args[0])), 0, 2, 1, 'x')
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), changed, 0o600))
}
