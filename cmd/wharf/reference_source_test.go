package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// sources are parsed files of this repository, by folder.
type sources map[string][]*ast.File

// folder returns the files of a folder, without tests.
func (s sources) folder(t *testing.T, dir string) []*ast.File {
	t.Helper()
	if files, found := s[dir]; found {
		return files
	}
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		s[dir] = append(s[dir], f)
	}
	return s[dir]
}

// field returns what the source says of a field of a struct, in one line.
func (s sources) field(t *testing.T, of reflect.Type, name string) (comment string) {
	dir := strings.TrimPrefix(of.PkgPath(), "github.com/wharf-mcp/wharf/")
	if dir == "main" {
		dir = "cmd/wharf"
	}
	for _, f := range s.folder(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != of.Name() {
				return true
			}
			if list, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range list.Fields.List {
					for _, id := range field.Names {
						if id.Name == name {
							comment = onOneLine(field.Doc.Text() + " " + field.Comment.Text())
						}
					}
				}
			}
			return false
		})
	}
	return comment
}

// onOneLine joins the lines of a comment.
func onOneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// constants returns the constants of a folder whose values are literals.
func (s sources) constants(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	for name, value := range s.constValues(t, dir) {
		all[name] = textOf(value, nil)
	}
	return all
}

// constValues yields the constants of a folder that have an expression of their own.
func (s sources) constValues(t *testing.T, dir string) iter.Seq2[string, ast.Expr] {
	return func(yield func(string, ast.Expr) bool) {
		for _, f := range s.folder(t, dir) {
			for _, d := range f.Decls {
				list, ok := d.(*ast.GenDecl)
				if !ok || list.Tok != token.CONST {
					continue
				}
				for _, spec := range list.Specs {
					v := spec.(*ast.ValueSpec)
					for i, id := range v.Names {
						if i < len(v.Values) && !yield(id.Name, v.Values[i]) {
							return
						}
					}
				}
			}
		}
	}
}

// textOf returns the text of a literal, or of a constant of the same folder.
func textOf(e ast.Expr, constants map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
		return e.Value
	case *ast.Ident:
		return constants[e.Name]
	case *ast.SelectorExpr:
		return constants[e.Sel.Name]
	}
	return ""
}

// texts returns the texts of a list that a package keeps in a variable.
func (s sources) texts(t *testing.T, dir, name string) (texts []string) {
	for _, f := range s.folder(t, dir) {
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && v.Names[0].Name == name {
				for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
					texts = append(texts, textOf(e, nil))
				}
			}
			return true
		})
	}
	if len(texts) == 0 {
		t.Fatalf("%s has no list %s", dir, name)
	}
	return texts
}

// variables returns the names of the environment that the program looks up by name.
func (s sources) variables(t *testing.T) map[string]bool {
	found := map[string]bool{}
	for _, dir := range goFolders(t, "cmd/wharf", "host") {
		constants := s.constants(t, dir)
		for _, f := range s.folder(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				called, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || called.Sel.Name != "Getenv" && called.Sel.Name != "LookupEnv" {
					return true
				}
				if name := textOf(call.Args[len(call.Args)-1], constants); name != "" {
					found[name] = true
				}
				return true
			})
		}
	}
	return found
}

// kinds returns the kinds of errors, by name, with their exit codes.
func (s sources) kinds(t *testing.T) map[string]string {
	codes, found := s.constants(t, "cmd/wharf/internal/exit"), map[string]string{}
	for _, dir := range goFolders(t, "cmd/wharf") {
		for _, f := range s.folder(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				kind, ok := n.(*ast.CompositeLit)
				if !ok || len(kind.Elts) != 2 || !isKind(kind.Type) {
					return true
				}
				var texts [2]string
				for i, e := range kind.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						e = pair.Value
					}
					texts[i] = textOf(e, codes)
				}
				if found[texts[1]] = texts[0]; texts[0] == "" || texts[1] == "" {
					t.Errorf("%s: a kind of errors that is not written as a code and a name", dir)
				}
				return true
			})
		}
	}
	return found
}

func isKind(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Kind"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Kind"
	}
	return false
}

// goFolders returns the folders with Go in them at and below some.
func goFolders(t *testing.T, tops ...string) (dirs []string) {
	t.Helper()
	for _, top := range tops {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(top)), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test") {
				return filepath.SkipDir
			}
			sources, err := filepath.Glob(filepath.Join(name, "*.go"))
			for _, source := range sources {
				if !strings.HasSuffix(source, "_test.go") {
					relative, err := filepath.Rel(root, name)
					if err != nil {
						return err
					}
					dirs = append(dirs, path.Clean(filepath.ToSlash(relative)))
					break
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// limit returns the value of a constant for people: "16 MiB", "30 s", "1000".
func (s sources) limit(t *testing.T, dir, name string) string {
	t.Helper()
	for id, value := range s.constValues(t, dir) {
		if id == name {
			return s.amount(t, dir, value)
		}
	}
	t.Fatalf("%s has no constant %s", dir, name)
	return ""
}

func (s sources) amount(t *testing.T, dir string, e ast.Expr) string {
	t.Helper()
	if other, ok := e.(*ast.SelectorExpr); ok { // the constant of another package of that folder
		return s.limit(t, "host/internal/"+other.X.(*ast.Ident).Name, other.Sel.Name)
	}
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		return textOf(e, nil)
	}
	left, right := textOf(b.X, nil), textOf(b.Y, nil)
	if unit, ok := b.Y.(*ast.SelectorExpr); ok && b.Op == token.MUL {
		return left + map[string]string{"Second": " s", "Minute": " min", "Hour": " h"}[unit.Sel.Name]
	}
	if unit, ok := map[string]string{"10": " KiB", "20": " MiB", "30": " GiB"}[right]; ok && b.Op == token.SHL {
		return left + unit
	}
	t.Fatalf("%s: a constant that cannot be read", dir)
	return ""
}
