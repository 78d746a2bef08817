package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// "challenge" is lines behind a sign-in: the server sends a nonce, and the guest proves
// that it knows the secret. "challenge-no-nonce" leaves the nonce out.

func (b *broken) challenged() bool { return b.is("challenge") || b.is("challenge-no-nonce") }

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
	if word, ok := bytes.CutPrefix(line, []byte("NONCE ")); ok {
		nonce, err := hex.AppendDecode(nil, word)
		if err != nil || b.is("challenge-no-nonce") {
			nonce = nil
		}
		mac := hmac.New(sha256.New, []byte(b.secret))
		mac.Write(nonce)
		b.stream.Write([]byte("PROOF "+hex.EncodeToString(mac.Sum(nil))+"\n"), abi.More)
		return nil
	}
	if string(line) != "WELCOME" {
		return sdk.Fail(abi.Unauthorized, "the server does not know the secret")
	}
	b.welcome = true
	return nil
}
