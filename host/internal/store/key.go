package store

import (
	"fmt"
	"strings"

	"aead.dev/minisign"
)

// SignatureError says that a file is not vouched for as it has to be.
type SignatureError struct{ Problem, Hint string }

func (e *SignatureError) Error() string { return e.Problem }

// ParseKey returns a publisher's key as an entry has it, from what minisign writes
// to minisign.pub or from the last line of that alone.
func ParseKey(text string) (string, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil || len(text) > maxText {
		return "", fmt.Errorf("%s is no key of minisign; expected what minisign.pub holds, such as RWQf6LRC…", quote(text))
	}
	return key.String(), nil
}

// CheckSignature finds out whether the owner of a key signed a file, and returns
// the comment that they signed with it.
//
// Only signatures of the hash are taken, which minisign has made for years. The
// older ones are of the file itself, and nothing in a signature vouches for which
// of the two it is.
func CheckSignature(key, signature string, binary []byte) (comment string, err error) {
	var public minisign.PublicKey
	var s minisign.Signature
	if err := public.UnmarshalText([]byte(key)); err != nil {
		return "", fmt.Errorf("its key: %w", err)
	}
	if err := s.UnmarshalText([]byte(signature)); err != nil || len(signature) > maxText {
		return "", &SignatureError{"its signature is none of minisign", "sign it with minisign -S"}
	}
	switch {
	case s.KeyID != public.ID():
		return "", &SignatureError{
			fmt.Sprintf("it is signed by the key %016X, and not by %016X", s.KeyID, public.ID()),
			"ask the publisher whether the key is another now, where an impostor could not answer; then remove the plugin and add it with --key",
		}
	case s.Algorithm != minisign.HashEdDSA:
		return "", &SignatureError{"its signature is of a kind that is out of use", "sign it again with a minisign that is not older than 0.8"}
	case !minisign.Verify(public, binary, []byte(signature)):
		return "", &SignatureError{"its signature is not for this file", "it was changed after it was signed: do not use it, and tell the publisher"}
	}
	return s.TrustedComment, nil
}

// KeyID is the short name of a key, as minisign shows it.
func KeyID(key string) string {
	var public minisign.PublicKey
	if public.UnmarshalText([]byte(key)) != nil {
		return ""
	}
	return fmt.Sprintf("%016X", public.ID())
}
