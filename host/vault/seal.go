package vault

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// sealSize is how many bytes longer a sealed value is than the value.
const sealSize = chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead

// The first part of the additional data. It differs between the kinds of sealed values.
const (
	sealsRecord = "wharf vault record"
	sealsCheck  = "wharf vault check"
)

// newKey returns a new key as a line of base64, the form in which it is stored.
func newKey() secret.Secret {
	key := make([]byte, chacha20poly1305.KeySize)
	_, _ = rand.Read(key) // never fails: it ends the program instead
	return secret.New(base64.StdEncoding.EncodeToString(key))
}

// openKey returns the cipher of a stored key.
func openKey(line secret.Secret) (cipher.AEAD, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(line.Reveal())
	if err != nil || len(key) != chacha20poly1305.KeySize {
		return nil, fmt.Errorf("it is no key; expected %d bytes in base64", chacha20poly1305.KeySize)
	}
	return chacha20poly1305.NewX(key)
}

// seal encrypts a value. It needs no counter: nonces of 24 random bytes do not repeat.
func seal(aead cipher.AEAD, value string, data []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX, sealSize+len(value))
	_, _ = rand.Read(nonce)
	return aead.Seal(nonce, nonce, []byte(value), data)
}

func unseal(aead cipher.AEAD, sealed, data []byte) (secret.Secret, error) {
	nonce, text := sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:]
	value, err := aead.Open(nil, nonce, text, data)
	if err != nil {
		return secret.Secret{}, errors.New("its seal is broken: the file was altered")
	}
	return secret.New(string(value)), nil
}

func (b *fileV1) about(what string) []byte {
	data := appendText(nil, what)
	data = binary.AppendUvarint(data, uint64(b.Version))
	return appendText(data, string(b.ID))
}

// aboutRecord returns the additional data of a record: all its parts that are not sealed and
// that a reader relies on.
func (b *fileV1) aboutRecord(key Key, generation uint64) []byte {
	data := key.append(b.about(sealsRecord))
	return binary.AppendUvarint(data, generation)
}

func (b *fileV1) aboutCheck() []byte { return appendText(b.about(sealsCheck), b.KeySource) }

// proves reports whether the cipher has the key of this file. A cipher with another key must
// seal nothing, since one file would then hold records of two keys.
func (b *fileV1) proves(aead cipher.AEAD) bool {
	_, err := unseal(aead, b.Check, b.aboutCheck())
	return err == nil
}
