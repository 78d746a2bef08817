package vault

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"unicode/utf8"
)

// maxName bounds a part of a key, in bytes. URLs are the longest parts.
const maxName = 4 << 10

// Key names a record. Provider and Name are never empty. Each other part is empty if the record
// is bound to nothing of that kind. Every part is authenticated with the value: a value that was
// stored under one key cannot be opened under another.
type Key struct {
	Provider string `json:"provider"`           // the record belongs to it, and no other provider gets the record
	Issuer   string `json:"issuer,omitempty"`   // the authorization server
	Resource string `json:"resource,omitempty"` // the server: its URL as in RFC 8707, or "origin …", "socket …", "entry …"; "" for a registration that serves all
	Client   string `json:"client,omitempty"`   // the client id
	Name     string `json:"name"`               // what the record holds: "token"
}

// String says which record is meant, for errors.
func (k Key) String() string {
	s := fmt.Sprintf("%q of %q", k.Name, k.Provider)
	if k.Issuer != "" {
		s += fmt.Sprintf(", issuer %q", k.Issuer)
	}
	if k.Resource != "" {
		s += fmt.Sprintf(", resource %q", k.Resource)
	}
	return s
}

func (k Key) parts() [5]string {
	return [5]string{k.Provider, k.Issuer, k.Resource, k.Client, k.Name}
}

// check refuses a key that the file would not keep unchanged. JSON replaces bytes that are not
// UTF-8, and two keys could become one.
func (k Key) check() error {
	if k.Provider == "" || k.Name == "" {
		return errors.New("a key needs a provider and a name")
	}
	for _, part := range k.parts() {
		if len(part) > maxName {
			return fmt.Errorf("a part of the key has %d bytes; %d are the most", len(part), maxName)
		}
		if !utf8.ValidString(part) {
			return fmt.Errorf("a part of the key is not UTF-8: %q", part)
		}
	}
	return nil
}

// append adds the parts, each after its length, so that no two keys look alike.
func (k Key) append(to []byte) []byte {
	for _, part := range k.parts() {
		to = appendText(to, part)
	}
	return to
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// bucket returns the number of the lock that stands for the record between processes. It is part
// of the format: programs of different versions must agree on it.
func (k Key) bucket() int {
	h := fnv.New64a()
	_, _ = h.Write(k.append(nil))
	return int(h.Sum64() % buckets)
}

func compareKeys(a, b Key) int {
	x, y := a.parts(), b.parts()
	return slices.Compare(x[:], y[:])
}
