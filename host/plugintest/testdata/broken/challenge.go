package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// "challenge" is lines behind a sign-in in which both sides prove that they know the
// secret. The server begins with a nonce, and we with a session; what we prove is made of
// both, and what the server does of the session. "challenge-deaf" leaves the nonce out.

func (b *broken) challenged() bool { return b.is("challenge") || b.is("challenge-deaf") }

// opensSession tells the server which session this is.
func (b *broken) opensSession() {
	b.session = make([]byte, 8)
	rand.Read(b.session)
	b.stream.Write([]byte("HELLO "+hex.EncodeToString(b.session)+"\n"), abi.More)
}

// signIn takes what comes before the connection is up.
func (b *broken) signIn(e sdk.Event) error {
	b.line = append(b.line, e.Payload.Bytes()...)
	for !b.welcome {
		line, rest, found := bytes.Cut(b.line, []byte("\n"))
		if !found {
			return nil
		}
		b.line = rest
		if err := b.takes(line); err != nil {
			return err
		}
	}
	e.Conn().Up()
	rest := b.line
	b.line = nil
	return b.look(rest)
}

// takes answers a line of the sign-in.
func (b *broken) takes(line []byte) error {
	if word, ok := bytes.CutPrefix(line, []byte("LOFT ")); ok {
		nonce, err := hex.AppendDecode(nil, word)
		if err != nil || b.is("challenge-deaf") {
			nonce = nil
		}
		mac := hmac.New(sha256.New, []byte(b.secret))
		mac.Write(append(nonce, hex.EncodeToString(b.session)...))
		b.stream.Write([]byte("PROOF "+hex.EncodeToString(mac.Sum(nil))+"\n"), abi.More)
		return nil
	}
	sum := sha256.Sum256([]byte(hex.EncodeToString(b.session) + b.secret))
	if string(line) != "WELCOME "+base64.StdEncoding.EncodeToString(sum[:]) {
		return sdk.Fail(abi.Unauthorized, "the loft does not know the secret")
	}
	b.welcome = true
	return nil
}
