package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Pin is a file of the project that a command names, and what was in it.
type Pin struct {
	Path string // from the folder of the project, with slashes
	Is   string // "sha256:…", or where a link leads that goes out of the project
	By   string // the interpreter, or program of a registry, whose code it may be; "" for none
}

// Pins returns what is in the files below a project's folder that a command
// names, as the command itself or in its arguments: what is approved of is the
// script, and not whatever comes to have its name. That is also the file that an
// interpreter takes for a word that is none, and what it reads unasked, see
// [run.files]. Arguments are those that the command will get, and count from dir.
//
// A file that cannot be read, or is too large to be read each time, is an error:
// nobody could say that it is still the same.
func (b *Budget) Pins(project, dir, command string, args []string) ([]Pin, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	b.begin()
	l := &look{budget: b, project: project, dir: dir, root: root}
	l.words("", append([]string{command}, args...))
	for _, r := range runs(command, args) {
		l.files(r)
	}
	return l.pins, l.err
}

// look is one look at what a command names. The first error ends it.
type look struct {
	budget       *Budget
	project, dir string
	root         *os.Root
	pins         []Pin
	err          error
}

// words pins what words name as they are written.
func (l *look) words(by string, words []string) {
	for _, word := range words {
		l.word(by, valueOf(word))
	}
}

// valueOf returns what is assigned in a word that is a flag, and any other as it
// is.
func valueOf(word string) string {
	if _, value, assigned := strings.Cut(word, "="); assigned && strings.HasPrefix(word, "-") {
		return value
	}
	return word
}

// kind is what a word names.
type kind int

const (
	nothing kind = iota // of the project
	aFile
	aFolder
)

// word pins what a word names below the project, if that is a file.
func (l *look) word(by, word string) kind {
	p, found := l.find(word)
	if !found {
		return nothing
	}
	what := aFile
	if p.Is == "" {
		p.Is, what = l.contents(p.Path)
	}
	if p.Is != "" && l.err == nil {
		l.add(by, p)
	}
	return what
}

// find returns where a word leads below the project, or out of it by a link.
func (l *look) find(word string) (p Pin, found bool) {
	if word == "" || strings.Contains(word, "\x00") || l.err != nil {
		return p, false
	}
	if l.err = l.budget.try(); l.err != nil {
		return p, false
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(l.dir, word)
	}
	p.Path = below(l.project, word)
	if real, err := filepath.EvalSymlinks(word); err == nil && real != word {
		if inside := below(l.project, real); inside != "" {
			p.Path = inside
		} else {
			p.Is = real
		}
	}
	return p, p.Path != ""
}

// add keeps a pin once, and whose code it is.
func (l *look) add(by string, p Pin) {
	at := slices.IndexFunc(l.pins, func(q Pin) bool { return q.Path == p.Path })
	if at < 0 {
		at, l.pins = len(l.pins), append(l.pins, p)
	}
	if l.pins[at].By == "" {
		l.pins[at].By = by
	}
	if len(l.pins) > maxPins {
		l.err = fmt.Errorf("the command names more than %d files of the project", maxPins)
	}
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
func (l *look) contents(name string) (is string, what kind) {
	path := filepath.Join(l.project, name)
	if is, known := l.budget.known[path]; known {
		return is, aFile
	}
	h := sha256.New()
	what, l.err = l.read(name, h)
	if what == aFile && l.err == nil {
		is = prefix + hex.EncodeToString(h.Sum(nil))
		l.budget.known[path] = is
	}
	if l.err != nil {
		l.err = fmt.Errorf("%s: %w", path, l.err)
	}
	return is, what
}

// readStep is how many bytes are read between two looks at the budget.
const readStep = 1 << 20

// read writes a regular file to h, and takes its size from the budget before it
// does. Of what is no file it says what it is.
func (l *look) read(name string, h hash.Hash) (kind, error) {
	f, what, err := l.open(name)
	if f == nil {
		return what, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() > l.budget.bytes {
		err = l.budget.tooLarge()
	}
	for err == nil {
		var n int64
		n, err = io.CopyN(h, f, readStep)
		if wrong := l.budget.spend(n); wrong != nil {
			err = wrong
		}
	}
	if err == io.EOF {
		err = nil
	}
	return aFile, err
}

// open opens a regular file of the project. f is nil for anything else.
func (l *look) open(name string) (f *os.File, what kind, err error) {
	f, err = l.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not wait for its writer
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENXIO):
		return nil, nothing, nil // there is no such file
	case err != nil:
		return nil, nothing, errors.Unwrap(err)
	}
	info, err := f.Stat()
	switch {
	case err == nil && info.Mode().IsRegular():
		return f, aFile, nil
	case err == nil && info.IsDir():
		what = aFolder
	}
	f.Close()
	return nil, what, err
}
