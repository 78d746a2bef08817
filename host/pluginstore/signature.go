package pluginstore

import (
	"fmt"
	"strconv"
	"strings"

	"aead.dev/minisign"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// parseKey returns a publisher's key as an entry has it. text is what minisign writes to
// minisign.pub, or the last line of that.
func parseKey(text string) (string, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil || len(text) > maxText {
		return "", fmt.Errorf("%s is no key of minisign; expected what minisign.pub holds, such as RWQf6LRC…", quote(text))
	}
	return key.String(), nil
}

// keyShape matches a text that is meant to be a key, even one that was not copied whole. Every
// key of minisign begins with RW.
var keyShape = lazyregexp.New(`^RW[A-Za-z0-9+/=]{38,}$`)

// IsPublisherKey reports whether a text is meant to be a publisher's key and not the name of a
// file: it is like minisign.pub or the last line of that. A key on a command line is never read
// from a file of that name.
func IsPublisherKey(text string) bool {
	_, err := parseKey(text)
	return err == nil || keyShape.MatchString(text)
}

// comment holds what the publisher says of a plugin in the trusted comment of its signature.
// minisign writes words such as "timestamp:1700000000" and "file:pigeon.wasm" by itself; the
// publisher may add "plugin:pigeon" and "version:1.2.0".
type comment struct {
	Plugin  string // the name in the manifest
	Version string // the one in the manifest
	File    string // that was signed
	Signed  int64  // when, in seconds since 1970; 0 where it does not say
}

// readComment reads a trusted comment. If a key occurs several times, its first word counts.
// Missing and malformed words leave their fields empty.
func readComment(text string) comment {
	words := make(map[string]string)
	for word := range strings.FieldsSeq(text) {
		if key, value, _ := strings.Cut(word, ":"); words[key] == "" {
			words[key] = value
		}
	}
	c := comment{Plugin: words["plugin"], Version: words["version"], File: words["file"]}
	if n, err := strconv.ParseInt(words["timestamp"], 10, 64); err == nil && n > 0 {
		c.Signed = n
	}
	return c
}

// commentOf reads the trusted comment of a signature that was checked before. Its result is safe
// to show.
func commentOf(signature string) comment {
	var s minisign.Signature
	if s.UnmarshalText([]byte(signature)) != nil {
		return comment{}
	}
	return readComment(cleantext.Line(s.TrustedComment, maxText))
}

// checkSignature checks that the owner of a key signed a file, and returns the trusted comment of
// the signature.
//
// It accepts only signatures of the file's hash, which minisign has made for years. Older ones sign
// the file itself. The mark that tells the two kinds apart is not signed.
func checkSignature(key, signature string, binary []byte) (comment string, err error) {
	var public minisign.PublicKey
	var s minisign.Signature
	if err := public.UnmarshalText([]byte(key)); err != nil {
		return "", fmt.Errorf("its key: %w", err)
	}
	if err := s.UnmarshalText([]byte(signature)); err != nil || len(signature) > maxText {
		return "", unsigned("its signature is not one of minisign", "sign it with minisign -S")
	}
	switch {
	case s.KeyID != public.ID():
		return "", unsigned(fmt.Sprintf("it is signed by the key %016X, and not by %016X", s.KeyID, public.ID()),
			"ask the publisher whether the key is another now, where an impostor could not answer; then remove the plugin and add it with --key")
	case s.Algorithm != minisign.HashEdDSA:
		return "", unsigned("its signature is of a kind that is out of use", "sign it again with a minisign that is not older than 0.8")
	case !minisign.Verify(public, binary, []byte(signature)):
		return "", unsigned("its signature is not for this file", "it was changed after it was signed: do not use it, and tell the publisher")
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
