package args

import (
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// The examples are of RFC 6570, section 3.2.
func TestExpand(t *testing.T) {
	type values = map[string]string
	for template, test := range map[string]struct {
		values values
		want   string
	}{
		"file:///{path}":          {values{"path": "/foo/bar"}, "file:///%2Ffoo%2Fbar"},
		"{+path}/here":            {values{"path": "/foo/bar"}, "/foo/bar/here"},
		"X{#path,x}{+half}":       {values{"path": "/foo/bar", "x": "1024", "half": "50%25%"}, "X#/foo/bar,102450%25%25"},
		"{hello}{+hello}":         {values{"hello": "Hello World!"}, "Hello%20World%21Hello%20World!"},
		"X{.var,x}":               {values{"var": "value", "x": "1024"}, "X.value.1024"},
		"{;x,empty}":              {values{"x": "1024", "empty": ""}, ";x=1024;empty"},
		"{?x,empty}{&var:3,half}": {values{"x": "1024", "empty": "", "var": "value", "half": "50%"}, "?x=1024&empty=&var=val&half=50%25"},
		"{?undef}{/path*}{ü}":     {values{"path": "/foo", "ü": "ü"}, "/%2Ffoo%C3%BC"},
		"a{}b{":                   {nil, "a{}b{"},
	} {
		if got, err := Expand(template, test.values); got != test.want || err != nil {
			t.Errorf("%s: %s, want %s, %v", template, got, test.want, err)
		}
	}
	for _, test := range []struct{ template, name, want string }{
		{"a/{b}{?c,d*}", "c", `the variable "b" of the template is missing; write b=… c=… d=… behind it`},
		{"a/{b:5}", "c", `argument "c=…": the template has no variable of that name; write b=… behind it`},
	} {
		_, err := Expand(test.template, map[string]string{test.name: "x"})
		if err == nil || err.Error()+"; "+exit.HintOf(err) != test.want {
			t.Errorf("%s: %v; %s", test.template, err, exit.HintOf(err))
		}
	}
}
