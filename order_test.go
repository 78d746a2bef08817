package wharf_test

import (
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ordered are the folders, with those below them, in which no file depends on one that
// depends on it: types are below, and what works on them is above.
var ordered = []string{
	"cmd/wharf", "host/internal/guest", "host/internal/capability", "host/internal/egress", "host/internal/wasm",
	"host/internal/modules", "host/internal/worker", "host/internal/confine",
	"host/pluginbuild", "host/internal/auth",
}

func TestFilesAreOrdered(t *testing.T) {
	dirs := make(map[string]bool)
	for _, f := range parseModule(t) {
		if slices.ContainsFunc(ordered, func(dir string) bool { return match(dir+below, f.dir) }) {
			dirs[f.dir] = true
		}
	}
	if len(dirs) < len(ordered) {
		t.Fatalf("%d folders are there", len(dirs))
	}
	for dir := range dirs {
		if circle := circleIn(fileArrows(t, dir)); circle != nil {
			t.Errorf("%s: the files depend on each other: %s", dir, strings.Join(circle, " -> "))
		}
	}
}

// fileArrows returns which files of a package each of its files depends on.
func fileArrows(t *testing.T, dir string) map[string][]string {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if ours, err := build.Default.MatchFile(dir, filepath.Base(name)); err != nil {
			t.Fatal(err)
		} else if !ours || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	// Nothing is imported: what is declared in the package resolves without that.
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	checker := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := checker.Check(dir, set, files, info)
	arrows := make(map[string][]string)
	for id, used := range info.Uses {
		method, isFunc := used.(*types.Func)
		isMethod := isFunc && method.Signature().Recv() != nil
		if used.Pkg() != pkg || used.Parent() != pkg.Scope() && !isMethod {
			continue
		}
		from, to := filepath.Base(set.Position(id.Pos()).Filename), filepath.Base(set.Position(used.Pos()).Filename)
		if from != to && !slices.Contains(arrows[from], to) {
			arrows[from] = append(arrows[from], to)
		}
	}
	return arrows
}

// noImports has the type checker go on without the packages that are imported.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

// circleIn returns a circle of arrows, or nil.
func circleIn(arrows map[string][]string) []string {
	done := make(map[string]bool)
	var path []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if at := slices.Index(path, file); at >= 0 {
			return append(slices.Clone(path[at:]), file)
		}
		if done[file] {
			return nil
		}
		path = append(path, file)
		slices.Sort(arrows[file])
		for _, to := range arrows[file] {
			if circle := visit(to); circle != nil {
				return circle
			}
		}
		path = path[:len(path)-1]
		done[file] = true
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(arrows)) {
		if circle := visit(file); circle != nil {
			return circle
		}
	}
	return nil
}

func TestCircleIn(t *testing.T) {
	for want, arrows := range map[string]map[string][]string{
		"":                 {"a": {"b", "c"}, "b": {"c"}},
		"b -> c -> b":      {"a": {"b"}, "b": {"c"}, "c": {"b"}},
		"a -> b -> c -> a": {"a": {"b"}, "b": {"c"}, "c": {"a"}},
	} {
		if got := strings.Join(circleIn(arrows), " -> "); got != want {
			t.Errorf("%v: got %q, want %q", arrows, got, want)
		}
	}
}
