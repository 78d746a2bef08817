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
func (l *look) files(r run) {
	i, interprets := interpreterOf(r.name)
	if interprets {
		l.interpreted(r)
		l.words("", i.reads)
	}
	if slices.Contains(shells, r.name) && slices.ContainsFunc(r.args, isLine) {
		for _, arg := range r.args {
			l.words("", strings.FieldsFunc(arg, isBetweenWords))
		}
	}
	if f, _, packages, ok := r.fetches(); ok {
		l.words("", f.reads)
		if f.local {
			l.local(r.name, packages)
		}
	}
}

// isBetweenWords reports whether a letter ends a word in a line of shell.
func isBetweenWords(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>{}'\"`$=", r) }

// interpreted pins what an interpreter makes of its words: it is not known which
// of them is the code, and which an argument to it.
func (l *look) interpreted(r run) {
	for n, word := range r.args {
		switch {
		case n > 0 && r.args[n-1] == "-m":
			l.module(r.name, word)
		case strings.HasPrefix(word, "-m") && len(word) > 2 && word[2] != '-':
			l.module(r.name, word[2:])
		case n > 0 && slices.Contains([]string{"-cp", "-classpath", "--class-path", "-p", "--module-path"}, r.args[n-1]) && r.name == "java":
			l.classes(r, filepath.SplitList(word))
		}
		if word = valueOf(word); !strings.HasPrefix(word, "-") {
			l.code(r.name, word, true)
		}
	}
	if r.name == "java" {
		l.classes(r, []string{"."})
	}
}

// code pins what an interpreter runs for a word: the file, the one with an ending
// to it, or that of a folder.
func (l *look) code(by, word string, isPackage bool) {
	what := l.word(by, word)
	if what == aFile || l.err != nil || word == "" {
		return
	}
	for _, ending := range endings {
		l.word(by, strings.TrimRight(word, `/\`)+ending)
	}
	if what != aFolder {
		return
	}
	for _, name := range indexes {
		l.word(by, filepath.Join(word, name))
	}
	if manifest := filepath.Join(word, "package.json"); isPackage && l.word(by, manifest) == aFile {
		for _, main := range l.mains(manifest) {
			l.code(by, filepath.Join(word, filepath.FromSlash(main)), false)
		}
	}
}

// mains returns the files that a package.json says a folder is run by.
func (l *look) mains(manifest string) (files []string) {
	p, found := l.find(manifest)
	if !found {
		return nil
	}
	f, _, err := l.open(p.Path)
	if f == nil || err != nil {
		return nil // it was pinned: if it is gone now, so is the approval
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMain))
	var says map[string]json.RawMessage // by their very names: a struct would take "MAIN" too
	if err == nil {
		err = json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &says)
	}
	if err != nil {
		l.err = fmt.Errorf("%s: which file it names cannot be found out: %w", filepath.Join(l.project, p.Path), err)
	}
	for _, key := range []string{"main", "module"} {
		var name string
		if json.Unmarshal(says[key], &name) == nil && name != "" {
			files = append(files, name)
		}
	}
	return files
}

// module pins what python -m runs from the folder it runs in.
func (l *look) module(by, name string) {
	parts := strings.Split(name, ".")
	at := path.Join(parts...)
	l.word(by, at+".py")
	l.word(by, path.Join(at, "__main__.py"))
	for n := range parts {
		l.word(by, path.Join(path.Join(parts[:n+1]...), "__init__.py"))
	}
}

// classes pins the archives of a class path, and the class that is named to be run.
func (l *look) classes(r run, paths []string) {
	l.words(r.name, paths)
	for _, word := range r.args {
		if strings.HasPrefix(word, "-") {
			continue
		}
		for _, dir := range paths {
			l.word(r.name, filepath.Join(dir, strings.ReplaceAll(word, ".", "/")+".class"))
		}
	}
}

// local pins what a program of a registry finds of a package in the project.
func (l *look) local(by string, packages []string) {
	for _, p := range packages {
		name := p
		if at := strings.LastIndexByte(p, '@'); at > 0 {
			name = p[:at]
		}
		for _, root := range []string{".", l.project} {
			l.word(by, filepath.Join(root, "node_modules", ".bin", path.Base(name)))
			l.word(by, filepath.Join(root, "node_modules", filepath.FromSlash(name), "package.json"))
		}
	}
}
