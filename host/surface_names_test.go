package host_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateSurface = flag.Bool("surface", false, "write testdata/surface.txt anew")

// TestPublicSurface compares the public names of this package with
// testdata/surface.txt: functions, methods, types, constants, variables and fields,
// with the fields and methods that an alias brings from an internal package. To accept
// a change: go test ./host -run TestPublicSurface -surface
func TestPublicSurface(t *testing.T) {
	own, borrowed := publicNames(t, ".")
	got := fmt.Sprintf("%d public names, and %d that aliases bring from internal packages (with +)\n\n%s\n",
		len(own), len(borrowed), strings.Join(slices.Sorted(slices.Values(append(own, borrowed...))), "\n"))
	golden := filepath.Join("testdata", "surface.txt")
	if *updateSurface {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	before, after := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for _, line := range before {
		if !slices.Contains(after, line) {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			t.Errorf("new: %s", line)
		}
	}
}

// Package gateway has at most twelve public names, beside fields and methods.
func TestGatewayIsSmall(t *testing.T) {
	own, _ := publicNames(t, "gateway")
	names := slices.DeleteFunc(own, func(name string) bool {
		return strings.HasPrefix(name, "field ") || strings.HasPrefix(name, "method ")
	})
	if len(names) > 12 {
		t.Errorf("%d: %s", len(names), strings.Join(names, ", "))
	}
}

// publicNames returns the exported names that the package of a folder declares, and
// those that its aliases of internal types have there.
func publicNames(t *testing.T, dir string) (own, borrowed []string) {
	for _, f := range parsePackage(t, dir) {
		imports := make(map[string]string)
		for _, spec := range f.Imports {
			if _, room, internal := strings.Cut(strings.Trim(spec.Path.Value, `"`), "/host/internal/"); internal {
				imports[path.Base(room)] = filepath.Join("internal", room)
			}
		}
		for _, decl := range f.Decls {
			own = append(own, exported(decl)...)
			for alias, target := range aliases(decl) {
				if at, name, _ := strings.Cut(target, "."); imports[at] != "" {
					borrowed = append(borrowed, membersOf(t, imports[at], name, alias)...)
				}
			}
		}
	}
	return own, borrowed
}

func parsePackage(t *testing.T, dir string) (files []*ast.File) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range paths {
		if !strings.HasSuffix(name, "_test.go") {
			var f *ast.File
			f, err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			files = append(files, f)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// exported returns the public names of a declaration, each behind what it is.
func exported(decl ast.Decl) (names []string) {
	if fn, ok := decl.(*ast.FuncDecl); ok {
		receiver := receiverOf(fn)
		switch {
		case !fn.Name.IsExported() || receiver != "" && !ast.IsExported(receiver):
			return nil
		case receiver != "":
			return []string{"method " + receiver + "." + fn.Name.Name}
		}
		return []string{"func " + fn.Name.Name}
	}
	group := decl.(*ast.GenDecl)
	for _, spec := range group.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				names = append(append(names, "type "+spec.Name.Name), members(spec, spec.Name.Name)...)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() {
					names = append(names, group.Tok.String()+" "+name.Name)
				}
			}
		}
	}
	return names
}

// members returns the public fields of a struct, or the methods of an interface.
func members(spec *ast.TypeSpec, owner string) (names []string) {
	var fields *ast.FieldList
	kind := "field "
	switch body := spec.Type.(type) {
	case *ast.StructType:
		fields = body.Fields
	case *ast.InterfaceType:
		fields, kind = body.Methods, "method "
	default:
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			if name.IsExported() {
				names = append(names, kind+owner+"."+name.Name)
			}
		}
	}
	return names
}

// aliases returns what stands for a type of another package, and for which.
func aliases(decl ast.Decl) map[string]string {
	found := make(map[string]string)
	group, _ := decl.(*ast.GenDecl)
	if group == nil {
		return nil
	}
	for _, spec := range group.Specs {
		if spec, ok := spec.(*ast.TypeSpec); ok && spec.Assign.IsValid() && spec.Name.IsExported() {
			if target, ok := spec.Type.(*ast.SelectorExpr); ok {
				found[spec.Name.Name] = target.X.(*ast.Ident).Name + "." + target.Sel.Name
			}
		}
	}
	return found
}

// membersOf returns the public fields and methods of an internal type under the name
// of its alias, each with a + in front.
func membersOf(t *testing.T, dir, name, alias string) (names []string) {
	for _, f := range parsePackage(t, dir) {
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if receiverOf(decl) == name && decl.Name.IsExported() {
					names = append(names, "+ method "+alias+"."+decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == name {
						for _, member := range members(spec, alias) {
							names = append(names, "+ "+member)
						}
					}
				}
			}
		}
	}
	return names
}

// receiverOf returns the type that a function is a method of, or "".
func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	receiver := fn.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if index, ok := receiver.(*ast.IndexExpr); ok {
		receiver = index.X
	}
	return receiver.(*ast.Ident).Name
}
