package auth

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// `go doc sdk/auth Start` shows one line, which has the fields of the type.
func TestAliasesNameTheirFields(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) += step\.\w+ +// has (.+)$`).FindAllStringSubmatch(string(source), -1) {
		comments[m[1]] = m[2]
	}
	types := []any{Manifest{}, Setting{}, Wants{}, Start{}, Server{}, Challenge{}, RecordKey{}, HTTP{}, Response{}, Listen{},
		Prompt{}, RunResult{}, Key{}, PublicKey{}, Sign{}, Show{}, Credentials{}, Material{}, Request{}, Problem{}}
	for _, value := range types {
		var names []string
		for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
			names = append(names, field.Name)
		}
		name := reflect.TypeOf(value).Name()
		if got, want := comments[name], strings.Join(names, ", "); got != want {
			t.Errorf("%s: its comment says %q, and it has %q", name, got, want)
		}
		delete(comments, name)
	}
	if len(comments) > 0 {
		t.Errorf("not looked at: %v", comments)
	}
}
