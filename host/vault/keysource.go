package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// maxKeyFile bounds vault.key, which has one line of base64.
const maxKeyFile = 256

// startOver is the advice for a key that is lost for good.
const startOver = "or move %s away and sign in again"

// cipherOf returns the cipher of a file. It takes the key only from where the file says it is,
// and keeps the cipher, so that a process asks the keyring once.
func (v *Vault) cipherOf(ctx context.Context, b *fileV1) (cipher.AEAD, error) {
	v.mu.Lock()
	id, aead := v.id, v.aead
	v.mu.Unlock()
	if id == string(b.ID) && b.proves(aead) {
		return aead, nil
	}
	line, err := v.fetch(ctx, b)
	if err != nil {
		return nil, err
	}
	if aead, err = openKey(line); err != nil {
		return nil, fmt.Errorf("the key in %s: %w", v.place(b), err)
	}
	if !b.proves(aead) {
		return nil, fmt.Errorf("the key in %s is not the one that %s was sealed with: put the right one back, "+startOver,
			v.place(b), v.folder.Path(recordsFile), v.folder.Path(recordsFile))
	}
	v.remember(b, aead)
	return aead, nil
}

func (v *Vault) remember(b *fileV1, aead cipher.AEAD) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.id, v.aead = string(b.ID), aead
}

func (v *Vault) fetch(ctx context.Context, b *fileV1) (secret.Secret, error) {
	if b.KeySource == KeyInFile {
		return v.readKey() // the person was warned when it was made, and [Vault.Status] tells
	}
	line, err := v.ring.get(ctx, ringUser(b))
	path := v.folder.Path(recordsFile)
	switch {
	case err == nil:
		return line, nil
	case ctx.Err() != nil:
		return line, fmt.Errorf("waiting for the keyring: %w", err)
	case errors.Is(err, ErrNotFound):
		return line, fmt.Errorf("the keyring no longer has the key that %s was sealed with: restore it, "+startOver, path, path)
	}
	return line, fmt.Errorf("%s was sealed with a key in the keyring, which cannot be had: %w; unlock the keyring and try again, "+startOver, path, err, path)
}

func (v *Vault) readKey() (secret.Secret, error) {
	text, err := v.folder.Read(keyFile, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: restore it, "+startOver, err, v.folder.Path(recordsFile))
	}
	return secret.New(strings.TrimSuffix(string(text), "\n")), err
}

// create makes an empty file and its key. The caller holds the write lock and has seen that there
// is no file. So a new key never meets records that another key seals.
func (v *Vault) create(ctx context.Context) (*fileV1, cipher.AEAD, error) {
	b := &fileV1{Version: version, ID: make([]byte, idSize), KeySource: KeyInKeyring, Records: records{}}
	_, _ = rand.Read(b.ID)
	line := newKey()
	if err := v.ring.keep(ctx, ringUser(b), line); err != nil {
		if ctx.Err() != nil {
			return nil, nil, fmt.Errorf("waiting for the keyring: %w", err)
		}
		b.KeySource = KeyInFile
		if line, err = v.keyInFile(err); err != nil {
			return nil, nil, err
		}
	}
	aead, err := openKey(line)
	if err != nil {
		return nil, nil, fmt.Errorf("the key in %s: %w; remove it", v.place(b), err)
	}
	b.Check = seal(aead, "", b.aboutCheck())
	v.remember(b, aead)
	return b, aead, nil
}

// keyInFile returns the key in vault.key, which it makes if there is none. An existing key was
// left by a vault file that has been removed, or by a process that was killed before it wrote
// one.
func (v *Vault) keyInFile(why error) (secret.Secret, error) {
	v.warn("no keyring can be used (%v), so the key of the saved logins lies in %s: anyone who can read your files can read the logins", why, v.folder.Path(keyFile))
	line, err := v.readKey()
	if !errors.Is(err, fs.ErrNotExist) {
		return line, err
	}
	line = newKey()
	return line, v.folder.Write(keyFile, []byte(line.Reveal()+"\n"))
}

// ringUser names the key of a file in the keyring. Each vault has a key of its own, so a second
// vault, or a copied folder, never takes over the key of another.
func ringUser(b *fileV1) string { return "vault " + hex.EncodeToString(b.ID) }

func (v *Vault) place(b *fileV1) string {
	if b.KeySource == KeyInFile {
		return v.folder.Path(keyFile)
	}
	return fmt.Sprintf("the keyring (%s, %q)", service, ringUser(b))
}

// warn says once per vault that the key is in a file.
func (v *Vault) warn(format string, args ...any) {
	v.warned.Do(func() {
		if v.tell != nil {
			v.tell(fmt.Sprintf(format, args...))
		}
	})
}
