package config

import (
	"strings"
	"testing"
)

// Each of these takes gigabytes, or would if it were larger: what the parser
// keeps grows faster than the file.
func TestShapeThatCosts(t *testing.T) {
	const many = 20_000
	for name, text := range map[string]string{
		"inline tables":          "x = " + strings.Repeat("{a = ", many),
		"lists":                  "x = " + strings.Repeat("[", many),
		"dots":                   "[" + strings.Repeat("a.", many) + "a]\nb = 1\n",
		"dots before a value":    strings.Repeat("a.", many) + "a = 1\n",
		"a long name":            "[" + strings.Repeat("a", many) + "]\nb = 1\n",
		"a long quoted name":     `["` + strings.Repeat("a", many) + "\"]\nb = 1\n",
		"a long list name":       "[[" + strings.Repeat("a", many) + "]]\nb = 1\n",
		"a long key":             strings.Repeat("a", many) + " = 1\n",
		"after a comment":        "# \"\"\"\nx = " + strings.Repeat("{a = ", many),
		"after an escape":        `y = "\""` + "\nx = " + strings.Repeat("{a = ", many),
		"after a literal":        `y = '\'` + "\nx = " + strings.Repeat("{a = ", many),
		"after five quotes":      `y = ["""a""""", ` + strings.Repeat("{a = ", many),
		"after four quotes":      `y = ["""a"""", ` + strings.Repeat("{a = ", many),
		"after five apostrophes": "y = ['''a''''', " + strings.Repeat("{a = ", many),
		"after two long strings": `y = ["""""", """a\"""", ` + "\"\"\"'''\"\"\", " + strings.Repeat("{a = ", many),
	} {
		if err := checkShape(text); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := Parse("wharf.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), errShape.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShapeOfAConfiguration(t *testing.T) {
	long := strings.Repeat("a.[{ ", 1000)
	for _, text := range []string{
		"",
		"x = \"" + long + "\"\n",
		"x = '" + long + "'\n",
		"x = \"\"\"\n" + long + "\n\"\" \"\"\"\"\"\n",
		"# " + long + "\nx = 1\n",
		`x = ["` + long + `"]` + "\n",
		`x = { y = "` + long + `" }` + "\n",
		"x = [\n" + strings.Repeat("[\"a\"],\n", 1000) + "]\n",
		strings.Repeat("[[a.b]]\nc.d = 1.5\n", 1000),
		"x = \"not closed",
		"x = '''not closed",
	} {
		if err := checkShape(text); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}
