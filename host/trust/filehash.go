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

// fileHash is a file of the project that a command names, with the hash of its content.
type fileHash struct {
	path string // from the folder of the project, with slashes
	hash string // "sha256:…", or the target of a link that leads out of the project
}

// findings are the results of looking at the code behind a command line.
type findings struct {
	found     []fileHash // the files that are pinned
	unpinned  []string   // arguments that can run other code; "" stands for a missing argument
	local     []string   // programs that take a package from the project
	variables []string   // variables whose values name something of the project
}

// code returns the files below a project's folder that a command names, as the command itself or in
// its arguments. A person approves the content of a script and not its name. The files include
// those that an interpreter finds by a word that is no file name, and those that it reads by
// itself. args are the arguments that the command will get; relative paths in args and env start at
// dir.
//
// A file that cannot be read, or is too large to be read each time, is an error, because it could
// not be compared later.
func (b *budget) code(project, dir, command string, args []string, env map[string]string) (findings, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return findings{}, err
	}
	defer root.Close()
	b.tried = 0
	s := &scan{budget: b, project: project, dir: dir, root: root, known: make(map[string]kind)}
	for _, word := range append([]string{command}, args...) {
		s.word(valueOf(word))
	}
	all := runs(command, args)
	for _, r := range all {
		s.run(r)
	}
	if last := all[len(all)-1]; len(all) > maxWrapped && last.inner() != nil {
		s.unpin(last.name)
	}
	for name, value := range env {
		if slices.ContainsFunc(strings.FieldsFunc(value, isBetweenWords), s.isPath) {
			s.variables = append(s.variables, name)
		}
	}
	return s.findings, s.err
}

// scan looks at the code that one command names. It stops at the first error.
type scan struct {
	findings
	budget       *budget
	project, dir string
	root         *os.Root
	known        map[string]kind // paths that were looked at
	err          error
}

func (s *scan) unpin(words ...string) { s.unpinned = append(s.unpinned, words...) }

// valueOf returns the value of a word of the form --flag=value. It returns any other word whole.
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

// word pins the file below the project that a word names, if any. Behind a link, ".." is one
// folder for the system, and another for a program that first shortens the path: both files are
// pinned.
func (s *scan) word(word string) kind {
	if word == "" || strings.Contains(word, "\x00") || s.err != nil {
		return nothing
	}
	path := s.from(word)
	what := s.path(path)
	if strings.Contains(word, "..") {
		what = max(what, s.path(filepath.Clean(path)))
	}
	return what
}

// from returns a word as a path. A relative path starts at the folder in which the command runs.
func (s *scan) from(word string) string {
	if word = filepath.FromSlash(word); filepath.IsAbs(word) {
		return word
	}
	return s.dir + string(filepath.Separator) + word // not cleaned, so that ".." counts where it stands
}

// path does the work of word for an absolute path.
func (s *scan) path(path string) kind {
	what, known := s.known[path]
	if known {
		return what
	}
	p := s.find(path)
	switch {
	case p.hash != "":
		what = aFile
	case p.path != "":
		p.hash, what = s.contents(p.path)
	}
	s.known[path] = what
	if p.hash != "" && s.err == nil && !slices.Contains(s.found, p) {
		s.found = append(s.found, p)
	}
	if len(s.found) > maxFiles {
		s.err = fmt.Errorf("the command names more than %d files of the project", maxFiles)
	}
	return what
}

// find returns where a path leads: a file below the project, or the target of a link out of it.
func (s *scan) find(path string) fileHash {
	if s.err != nil {
		return fileHash{}
	}
	var real string
	if real, s.err = s.budget.real(s.project, path); s.err != nil || real == "" {
		return fileHash{}
	}
	if inside := below(s.project, real); inside != "" {
		return fileHash{path: inside}
	}
	if link := below(s.project, path); link != "" {
		if _, err := os.Lstat(real); err == nil {
			return fileHash{link, real}
		}
	}
	return fileHash{}
}

// below returns a path from the folder of a project. It returns "" for a path that is not below
// the folder.
func below(project, path string) string {
	name, err := filepath.Rel(project, path)
	if err != nil || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

// isPath reports whether a word that looks like a path leads to something of the project.
func (s *scan) isPath(word string) bool {
	if !strings.ContainsAny(word, `./\`) || strings.Contains(word, "\x00") {
		return false
	}
	p := s.find(s.from(word))
	_, err := s.root.Lstat(filepath.FromSlash(p.path))
	return p.hash != "" || p.path != "" && err == nil
}

// readStep is how many bytes are read between two looks at the budget.
const readStep = 1 << 20

// contents returns the digest of a regular file, or "" for anything else. It takes the size of
// the file from the budget before it reads.
func (s *scan) contents(name string) (is string, what kind) {
	path := filepath.Join(s.project, name)
	if is, known := s.budget.known[path]; known {
		return is, aFile
	}
	f, size, what, err := s.open(name)
	if f != nil {
		defer f.Close()
		if size > s.budget.bytes {
			err = s.budget.tooLarge()
		}
		h := sha256.New()
		for err == nil {
			var n int64
			n, err = io.CopyN(h, f, readStep)
			if wrong := s.budget.spend(n); wrong != nil {
				err = wrong
			}
		}
		if err == io.EOF {
			is, err = prefix+hex.EncodeToString(h.Sum(nil)), nil
			s.budget.known[path] = is
		}
	}
	if err != nil {
		s.err = fmt.Errorf("%s: %w", path, err)
	}
	return is, what
}

// open opens a regular file of the project. f is nil for anything else.
func (s *scan) open(name string) (f *os.File, size int64, what kind, err error) {
	f, err = s.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not wait for its writer
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ENXIO):
		return nil, 0, nothing, nil // there is no such file
	case err != nil:
		return nil, 0, nothing, errors.Unwrap(err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return f, info.Size(), aFile, nil
	}
	f.Close()
	return nil, 0, aFolder, err // or a pipe: a name below it cannot exist either
}
