// Package plugin reads the plugin files that a user's configuration names. The bytes that it hashes
// are the bytes that it returns, so no other bytes can replace them between the check and the use.
package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// MaxSize is the largest size of a plugin file, in bytes: the limit for a module.
const MaxSize = 8 << 20

// File names a plugin file and the hash that its content must have.
type File struct {
	Name   string // the name that server entries use
	Path   string
	SHA256 string // lower-case hex; empty = any
}

// HashError says that a file does not have the approved hash.
type HashError struct {
	Name, Path string // Name is "" for a file that is not installed
	Want, Got  string
}

func (e *HashError) Error() string {
	if e.Name == "" {
		return fmt.Sprintf("%s has sha256 %s, expected %s", e.Path, e.Got, e.Want)
	}
	return fmt.Sprintf("plugin %s: %s has sha256 %s, expected %s", e.Name, e.Path, e.Got, e.Want)
}

var namePattern = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)

// ValidName reports whether name is allowed for a plugin.
func ValidName(name string) bool { return namePattern.MatchString(name) }

// Read returns the content of the file, which has the approved hash.
func (f File) Read() ([]byte, error) {
	if !ValidName(f.Name) {
		return nil, fmt.Errorf("plugin %q: a name is lower-case letters, digits and dashes", f.Name)
	}
	data, err := ReadFile(f.Path, MaxSize)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", f.Name, err)
	}
	if got := Hash(data); f.SHA256 != "" && !strings.EqualFold(got, f.SHA256) {
		return nil, &HashError{Name: f.Name, Path: f.Path, Want: f.SHA256, Got: got}
	}
	return data, nil
}

// Hash returns the SHA-256 of data in lower-case hex.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// unfit says why a file cannot be a plugin. It matches [fs.ErrInvalid].
type unfit string

func (u unfit) Error() string        { return string(u) }
func (u unfit) Is(target error) bool { return target == fs.ErrInvalid }

// ReadFile returns the content of a regular file of at most limit bytes. For any other file it
// returns an [fs.PathError], which is an [fs.ErrInvalid] if the file exists.
func ReadFile(path string, limit int64) ([]byte, error) {
	if at, err := os.Stat(path); err != nil {
		return nil, err
	} else if !at.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, &fs.PathError{Op: "read", Path: path, Err: unfit("expected a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: unfit(fmt.Sprintf("it is larger than %d bytes", limit))}
	}
	return data, nil
}
