package trust

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// How programs find code: the endings that they add to a word that names no file, and the files
// that they run if a word names a folder.
var (
	endings = []string{".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".json", ".node", ".wasm", ".py", ".rb", ".pl", ".php", ".lua", ".class"}
	indexes = []string{"index.js", "index.mjs", "index.cjs", "index.ts", "index.mts", "index.tsx", "index.jsx", "index.json", "index.node", "__main__.py", "__init__.py", "main.lua", "init.lua"}
)

// run pins the code of a program, as far as this package understands the program. For an
// interpreter it pins each word that names code: to pin an argument needlessly is better than to
// miss code.
func (s *scan) run(r run) {
	s.above(strings.Fields(r.reads))
	if r.odd != "" {
		s.unpin(r.odd)
	}
	switch r.is {
	case interpreter, shell:
		s.interpreted(r)
	case fetcher:
		s.modules(r)
	case unknown:
		names := s.named(r.args)
		if !strings.ContainsAny(r.command, `/\`) || s.word(r.command) != aFile { // else the command is a file of the project, and pinned
			s.unpin(names...)
		}
	case builder, carrier:
		s.named(r.args)
	}
}

// interpreted pins the code that an interpreter finds by the words of its command line.
func (s *scan) interpreted(r run) {
	for _, word := range r.args {
		if word = valueOf(word); !strings.HasPrefix(word, "-") {
			s.code(word, true)
		}
	}
	for _, word := range r.files {
		if !s.code(word, true) {
			s.unpin(word)
		}
	}
	switch {
	case r.module != "":
		s.module(r.module)
	case r.text && r.is == shell:
		s.named(r.args)
	case r.text:
	case len(r.rest) == 0:
		s.unpin("")
	case !s.main(r) || r.verbs && !strings.ContainsAny(r.rest[0], "./"):
		s.unpin(r.rest[0])
	}
}

// main pins the main code of an interpreter, and reports whether it was found. Java finds it in
// folders and archives.
func (s *scan) main(r run) (found bool) {
	found = s.code(r.rest[0], true)
	if paths := r.paths; strings.Contains(r.program.args, "="+aPath) {
		if len(paths) == 0 {
			paths = []string{"."}
		}
		for _, dir := range paths {
			what := s.word(dir)
			if what == nothing {
				s.unpin(dir)
			}
			found = s.code(filepath.Join(dir, strings.ReplaceAll(r.rest[0], ".", "/")), false) || found || what == aFile
		}
	}
	return found
}

// code pins the file that an interpreter runs for a word: the file of that name, the file with
// one of the endings added, or a file in the folder of that name. It reports whether there is one.
func (s *scan) code(word string, isPackage bool) (found bool) {
	what := s.word(word)
	if what == aFile || s.err != nil || word == "" {
		return what == aFile
	}
	for _, ending := range endings {
		found = s.word(strings.TrimRight(word, `/\`)+ending) == aFile || found
	}
	if what != aFolder {
		return found
	}
	for _, name := range indexes {
		found = s.word(filepath.Join(word, name)) == aFile || found
	}
	if manifest := filepath.Join(word, "package.json"); isPackage && s.word(manifest) == aFile {
		for _, main := range s.mains(manifest) {
			found = s.code(filepath.Join(word, filepath.FromSlash(main)), false) || found
		}
	}
	return found
}

// mains returns the files that a program runs for a folder, according to the folder's package.json.
func (s *scan) mains(manifest string) (files []string) {
	p := s.find(s.from(manifest))
	f, _, _, _ := s.open(p.path)
	if f == nil {
		return nil // it was pinned: if it is gone now, the approval no longer holds
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

// module pins the files that python -m runs from its working folder.
func (s *scan) module(name string) {
	at := ""
	for part := range strings.SplitSeq(name, ".") {
		at = path.Join(at, part)
		s.word(path.Join(at, "__init__.py"))
	}
	s.word(at + ".py")
	s.word(path.Join(at, "__main__.py"))
}

// named pins the files that the words name, or that a program may derive from them: server.py
// from server:app. It returns the names that lead anywhere.
func (s *scan) named(words []string) (names []string) {
	for _, word := range words {
		parts := append([]string{word}, strings.FieldsFunc(word, isBetweenWords)...)
		for _, part := range slices.Compact(parts) {
			if strings.HasPrefix(part, "-") {
				part = part[min(2, len(part)):] // a letter with its value
			}
			what, module := s.word(part), strings.ReplaceAll(part, ".", "/")
			if what == nothing && part != "" {
				what = s.word(module)
				for _, ending := range endings {
					what = max(what, s.word(part+ending), s.word(module+ending))
				}
			}
			if what != nothing {
				names = append(names, part)
			}
		}
	}
	return names
}

// isBetweenWords reports whether a letter ends a name in a line of shell, or in a program's own
// language.
func isBetweenWords(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>{}'\"`$=:,@", r) }

// modules pins the files of the project that run in place of a package of a registry.
func (s *scan) modules(r run) {
	if !r.modules {
		return
	}
	for _, p := range r.packages {
		name := p[:cmp.Or(max(strings.LastIndexByte(p, '@'), 0), len(p))] // without its version
		before := len(s.found)
		s.above([]string{filepath.Join("node_modules", ".bin", path.Base(name)), filepath.Join("node_modules", filepath.FromSlash(name), "package.json")})
		if len(s.found) > before {
			s.local = append(s.local, r.name)
		}
	}
}

// above pins the files of those names in the working folder and in the folders above it, up to
// the project's. Files further up cannot be pinned: above notes them as unpinned, until it
// reaches the user's home folder, whose files it leaves out.
func (s *scan) above(names []string) {
	if len(names) == 0 || s.err != nil {
		return
	}
	home, _ := os.UserHomeDir()
	dir, err := s.budget.real(s.project, s.dir)
	for s.err = err; dir != home && s.err == nil; dir = filepath.Dir(dir) {
		for _, name := range names {
			at := filepath.Join(dir, name)
			s.word(at)
			if below(s.project, at) == "" {
				if _, err := os.Lstat(at); err == nil {
					s.unpin(at)
				}
			}
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
}
