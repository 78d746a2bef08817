package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bounds of what is read of a project's own files, each time that a server of it
// is looked at.
const (
	maxPin  = 256 << 20 // bytes of all files
	maxPins = 64        // files
)

var errTooLarge = fmt.Errorf("it is too large to be looked at each time; at most %d MiB of the project's files are", maxPin>>20)

// Pin is a file of the project that a command names, and what was in it.
type Pin struct {
	Path string // from the folder of the project, with slashes
	Is   string // "sha256:…", or where a link leads that goes out of the project
}

// Pins returns what is in the files below a project's folder that a command
// names, as the command itself or in its arguments: what is approved of is the
// script, and not whatever comes to have its name. Arguments count from dir.
//
// A file that cannot be read, or is too large to be read each time, is an error:
// nobody could say that it is still the same.
func Pins(project, dir, command string, args []string) ([]Pin, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var pins []Pin
	left := int64(maxPin)
	for _, p := range insiders(project, dir, append([]string{command}, args...)) {
		if p.Is == "" {
			if p.Is, err = contents(root, p.Path, &left); err != nil {
				return nil, fmt.Errorf("%s: %w", filepath.Join(project, p.Path), err)
			}
		}
		if p.Is != "" {
			pins = append(pins, p)
		}
		if len(pins) > maxPins {
			return nil, fmt.Errorf("the command names more than %d files of the project", maxPins)
		}
	}
	return pins, nil
}

// insiders returns what the words of a command may name below the project, each
// once, without the contents.
func insiders(project, dir string, words []string) []Pin {
	var pins []Pin
	for _, word := range words {
		if _, value, assigned := strings.Cut(word, "="); assigned && strings.HasPrefix(word, "-") {
			word = value
		}
		if word == "" || strings.Contains(word, "\x00") {
			continue
		}
		if !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		p := Pin{Path: below(project, word)}
		if real, err := filepath.EvalSymlinks(word); err == nil && real != word {
			if inside := below(project, real); inside != "" {
				p.Path = inside
			} else {
				p.Is = real
			}
		}
		if p.Path != "" && !slices.Contains(pins, p) {
			pins = append(pins, p)
		}
	}
	return pins
}

// below returns a path from the folder of a project, or "" for one that is not
// below it.
func below(project, path string) string {
	name, err := filepath.Rel(project, path)
	if err != nil || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

// contents returns the digest of a file, or "" for what is no regular file.
func contents(root *os.Root, name string, left *int64) (string, error) {
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not wait for its writer
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENXIO):
		return "", nil // there is no such file
	case err != nil:
		return "", errors.Unwrap(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	if info.Size() > *left {
		return "", errTooLarge
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, *left+1))
	if *left -= n; *left < 0 { // it has grown
		return "", errTooLarge
	}
	return prefix + hex.EncodeToString(h.Sum(nil)), err
}
