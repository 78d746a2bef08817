package gateway

import (
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	for _, tt := range []struct {
		template, uri string
		want          bool
	}{
		{"log:///{day}", "log:///monday", true},
		{"log:///{day}", "log:///", true},
		{"log:///{day}", "log:///a/b", false},
		{"log:///{day}", "file:///monday", false},
		{"log:///{day}.txt", "log:///a.txt.txt", true},
		{"log:///{day}.txt", "log:///a.txt.tx", false},
		{"file:///{+path}", "file:///a/b", true},
		{"file:///{path*}", "file:///a/b", true},
		{"file:///{a}/x/{+b}", "file:///1/x/2/x/3", true},
		{"file:///{a}/x/{b}", "file:///1/x/2/x/3", false},
		{"{+a}x{b}", "y/xx", true},   // what follows is found at its first place and at others
		{"{+a}x{b}", "x/xy", true},   // the first x leaves a slash to b
		{"{+a}x{b}", "x/y/x", true},  // the last one does not
		{"{+a}x{b}", "xy/z/", false}, // each does
		{"users://{id}{?fields}", "users://1", true},
		{"users://{id}{?fields}", "users://1?fields=a/b", true},
		{"users://{id}{?fields}", "users://1/posts", false},
		{"a:{/x}", "a:/b/c", true},
		{"a:{/x}", "a:b", false},
		{"a:x{.ext}", "a:x.md", true},
		{"a:x{.ext}", "a:x/md", false},
		{"a:x{;p}", "a:x;p=1", true},
		{"a:x{#p}{&q}", "a:x#1&q=/", true},
		{"{}", "", true},
		{"", "", true},
		{"", "a", false},
		{"a:{x", "a:{x", false},
		{"a:{x", "a:", false},
		{"a:x}", "a:x}", true},
		{strings.Repeat("{a}", maxExpressions), "b", true},
		{strings.Repeat("{a}", maxExpressions+1), "b", false},
		{strings.Repeat("a", maxTemplate), strings.Repeat("a", maxTemplate), true},
		{strings.Repeat("a", maxTemplate+1), strings.Repeat("a", maxTemplate+1), false},
		{"{a}", strings.Repeat("a", maxExpansion), true},
		{"{a}", strings.Repeat("a", maxExpansion+1), false},
		{"{a:9999}", "b", true},
	} {
		if got := expands(tt.template, tt.uri); got != tt.want {
			t.Errorf("%.50s expands to %.50s: %v", tt.template, tt.uri, got)
		}
	}
}

// A template costs by its expressions and the length of the URI, whatever it says.
func TestTemplatesAreBounded(t *testing.T) {
	uri := strings.Repeat("a", maxExpansion)
	for _, template := range []string{
		strings.Repeat("{a:9999,b:9999,c:9999}", maxExpressions), strings.Repeat("{+a}a", maxExpressions), strings.Repeat("{a*}", maxTemplate/4),
	} {
		var o owners
		o.add("files", template, true)
		if got := testing.AllocsPerRun(1, func() { o.serverOf(uri) }); got > 2*maxExpressions+2 { // of an array as long as the URI
			t.Errorf("%.30s is matched with %v allocations", template, got)
		}
	}
}

// FuzzTemplates: an expansion without slashes is one, whatever the template is.
func FuzzTemplates(f *testing.F) {
	f.Add("a:", "b", "/c", "d")
	f.Fuzz(func(t *testing.T, before, value, between, uri string) {
		template := before + "{x}" + between + "{+y}"
		if expands(template, uri) && strings.ContainsAny(before+between, "{}") == false && !strings.HasPrefix(uri, before) {
			t.Errorf("%q expands to %q", template, uri)
		}
		if strings.ContainsAny(before+between, "{}") || strings.Contains(value, "/") || len(template) > maxTemplate {
			return
		}
		if whole := before + value + between + value + "/" + value; len(whole) <= maxExpansion && !expands(template, whole) {
			t.Errorf("%q does not expand to %q", template, whole)
		}
	})
}
