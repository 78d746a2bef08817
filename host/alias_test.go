package host_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// `go doc host RequestOptions` shows that it is a type of another package, and nothing of
// it: so the comments of such types name all fields and constants that they have.
func TestAliasesNameTheirFields(t *testing.T) {
	found := 0
	for _, spec := range typeSpecs(t, ".") {
		to, ok := spec.Type.(*ast.SelectorExpr)
		if !ok || spec.Assign == 0 {
			continue
		}
		folder := filepath.Join("internal", to.X.(*ast.Ident).Name)
		if _, err := os.Stat(folder); err != nil {
			continue // a public package, which go doc shows
		}
		for _, aliased := range typeSpecs(t, folder) {
			if aliased.Name.Name != to.Sel.Name {
				continue
			}
			found++
			for _, name := range fieldsOf(aliased) {
				if !regexp.MustCompile(`\b` + name + `\b`).MatchString(spec.Doc.Text()) {
					t.Errorf("the comment of host.%s does not name its field %s", spec.Name.Name, name)
				}
			}
		}
	}
	if found < 6 {
		t.Errorf("found %d aliases", found)
	}
}

// typeSpecs are the types of a package, each with its comment.
func typeSpecs(t *testing.T, dir string) (specs []*ast.TypeSpec) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.TYPE {
				continue
			}
			for _, s := range group.Specs {
				spec := s.(*ast.TypeSpec)
				if spec.Doc == nil {
					spec.Doc = group.Doc
				}
				specs = append(specs, spec)
			}
		}
	}
	return specs
}

// fieldsOf are the exported fields of a struct; another type has none.
func fieldsOf(spec *ast.TypeSpec) (names []string) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			if name.IsExported() {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
