package wharf_test

import (
	"go/ast"
	"regexp"
	"testing"
)

// proseFirst are declarations whose doc comment begins with a word that is no name.
var proseFirst = map[string]bool{
	"host/internal/capability/dial/dialer.go: Guard": true,
	"host/internal/guest/calls.go: needOpen":         true,
	"host/internal/worker/frame.go: tag":             true,
}

// firstWord is what a doc comment begins with, behind an article.
var firstWord = regexp.MustCompile(`^(?:A |An |The )?\[?(\w+)`)

// TestCommentsNameWhatTheyDescribe finds doc comments that a rename has left behind.
func TestCommentsNameWhatTheyDescribe(t *testing.T) {
	for _, f := range parseModule(t) {
		for _, d := range f.syntax.Decls {
			name, doc := "", (*ast.CommentGroup)(nil)
			switch d := d.(type) {
			case *ast.FuncDecl:
				name, doc = d.Name.Name, d.Doc
			case *ast.GenDecl:
				if s, ok := d.Specs[0].(*ast.TypeSpec); ok && len(d.Specs) == 1 && !d.Lparen.IsValid() {
					name, doc = s.Name.Name, d.Doc
				}
			}
			if m := firstWord.FindStringSubmatch(doc.Text()); m != nil && m[1] != name && !proseFirst[f.path+": "+name] {
				t.Errorf("%s: the comment of %s begins with %q", f.path, name, m[1])
			}
		}
	}
}
