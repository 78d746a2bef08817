package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// How interpreters find code: the endings that they try behind a word that is no
// file, and the files that a folder is run by.
var (
	endings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".json", ".node", ".wasm", ".py", ".rb", ".pl", ".php", ".lua"}
	indexes = []string{"index.js", "index.mjs", "index.cjs", "index.ts", "index.mts", "index.tsx", "index.jsx", "index.json", "index.node", "__main__.py", "__init__.py", "main.lua", "init.lua"}
)

// files pins the code of a program beyond what its words name as they are written:
// what an interpreter finds by a word, what a line of shell names, what a program of
// a registry takes from the project, and what each of them reads by itself.
func (s *scan) files(r run) {
	i, interprets := interpreterOf(r.name)
	if interprets {
		s.interpreted(r)
		s.words("", i.reads)
	}
	if slices.Contains(shells, r.name) && slices.ContainsFunc(r.args, isLine) {
		for _, arg := range r.args {
			s.words("", strings.FieldsFunc(arg, isBetweenWords))
		}
	}
	if f, _, packages, ok := r.fetches(); ok {
		s.words("", f.reads)
		if f.local {
			s.local(r.name, packages)
		}
	}
}

// isBetweenWords reports whether a letter ends a word in a line of shell.
func isBetweenWords(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>{}'\"`$=", r) }

// interpreted pins what an interpreter makes of its words: it is not known which
// of them is the code, and which an argument to it.
func (s *scan) interpreted(r run) {
	for n, word := range r.args {
		switch {
		case n > 0 && r.args[n-1] == "-m":
			s.module(r.name, word)
		case strings.HasPrefix(word, "-m") && len(word) > 2 && word[2] != '-':
			s.module(r.name, word[2:])
		case n > 0 && slices.Contains([]string{"-cp", "-classpath", "--class-path", "-p", "--module-path"}, r.args[n-1]) && r.name == "java":
			s.classes(r, filepath.SplitList(word))
		}
		if word = valueOf(word); !strings.HasPrefix(word, "-") {
			s.code(r.name, word, true)
		}
	}
	if r.name == "java" {
		s.classes(r, []string{"."})
	}
}

// code pins what an interpreter runs for a word: the file, the one with an ending
// to it, or that of a folder.
func (s *scan) code(by, word string, isPackage bool) {
	what := s.word(by, word)
	if what == aFile || s.err != nil || word == "" {
		return
	}
	for _, ending := range endings {
		s.word(by, strings.TrimRight(word, `/\`)+ending)
	}
	if what != aFolder {
		return
	}
	for _, name := range indexes {
		s.word(by, filepath.Join(word, name))
	}
	if manifest := filepath.Join(word, "package.json"); isPackage && s.word(by, manifest) == aFile {
		for _, main := range s.mains(manifest) {
			s.code(by, filepath.Join(word, filepath.FromSlash(main)), false)
		}
	}
}

// mains returns the files that a package.json says a folder is run by.
func (s *scan) mains(manifest string) (files []string) {
	p := s.find(s.from(manifest))
	f, _, _ := s.open(p.path)
	if f == nil {
		return nil // it was pinned: if it is gone now, so is the approval
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMain))
	var says map[string]json.RawMessage // by their very names: a struct would take "MAIN" too
	if err == nil {
		err = json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &says)
	}
	if err != nil {
		s.err = fmt.Errorf("%s: which file it names cannot be found out: %w", filepath.Join(s.project, p.path), err)
	}
	for _, key := range []string{"main", "module"} {
		var name string
		if _ = json.Unmarshal(says[key], &name); name != "" { // else it names none
			files = append(files, name)
		}
	}
	return files
}

// module pins what python -m runs from the folder it runs in.
func (s *scan) module(by, name string) {
	parts := strings.Split(name, ".")
	at := path.Join(parts...)
	s.word(by, at+".py")
	s.word(by, path.Join(at, "__main__.py"))
	for n := range parts {
		s.word(by, path.Join(path.Join(parts[:n+1]...), "__init__.py"))
	}
}

// classes pins the archives of a class path, and the class that is named to be run.
func (s *scan) classes(r run, paths []string) {
	s.words(r.name, paths)
	for _, word := range r.args {
		if strings.HasPrefix(word, "-") {
			continue
		}
		for _, dir := range paths {
			s.word(r.name, filepath.Join(dir, strings.ReplaceAll(word, ".", "/")+".class"))
		}
	}
}

// local pins what a program of a registry finds of a package in the project.
func (s *scan) local(by string, packages []string) {
	for _, p := range packages {
		name := p
		if at := strings.LastIndexByte(p, '@'); at > 0 {
			name = p[:at]
		}
		for _, root := range []string{".", s.project} {
			s.word(by, filepath.Join(root, "node_modules", ".bin", path.Base(name)))
			s.word(by, filepath.Join(root, "node_modules", filepath.FromSlash(name), "package.json"))
		}
	}
}
