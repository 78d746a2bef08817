package registry

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// FuzzDescriptions: whatever a registry says of a server, an entry that is made of it runs
// a program that is known, takes no variable and no secret that the user did not answer
// with, is written and read back as it is, and is found again by what made it.
func FuzzDescriptions(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(examples, "*.json"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, p := range []string{firstVersion, laterVersion} {
		f.Add([]byte(`{"name": "io.example/x", "description": "d", "version": "1.0.0", "packages": [` + p + `]}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		a := answer{Server: text}
		l, err := a.listing()
		if err != nil {
			return
		}
		for _, o := range l.Server.Options(false) {
			if o.Unusable == "" && o.Bundle == nil {
				checkOption(t, o)
			}
		}
	})
}

func checkOption(t *testing.T, o *Option) {
	answers := make(Answers)
	s, err := o.Entry(answers)
	for missing := (*MissingError)(nil); errors.As(err, &missing); s, err = o.Entry(answers) {
		for _, in := range missing.Inputs {
			answers[in.ID] = []string{"${ANSWER}"}
		}
	}
	if err != nil {
		return // a url that is refused when it is whole
	}
	programs := []string{"npx", "bunx", "uvx", "dnx", "docker", "podman", ""}
	if o.Kind != "cargo" && !slices.Contains(programs, s.Command) {
		t.Errorf("it runs %q", s.Command)
	}
	for _, name := range s.Variables() {
		if name != "ANSWER" {
			t.Errorf("it takes the variable %s: %+v", name, s)
		}
	}
	if secrets := s.Secrets(); len(secrets) > 0 {
		t.Errorf("it takes the secrets %v", secrets)
	}
	s.Name = "x"
	file, err := tomledit.AddTables(nil, tomledit.Server(s))
	if err != nil {
		return // no UTF-8, or a variable without a name
	}
	read, err := config.Parse("wharf.toml", file)
	if err != nil {
		return // the configuration refuses what is no header and the like
	}
	if got := read.Servers[0]; got.Command != s.Command || !slices.Equal(got.Args, s.Args) || got.URL != s.URL {
		t.Errorf("%+v was written, and is read as %+v", s, got)
	}
	for _, c := range o.Cautions(s) {
		if strings.ContainsAny(c, "\x1b\n\u202e") {
			t.Errorf("%q", c)
		}
	}
	merged, _, err := Merge(o, o, s, answers)
	if err != nil || merged.Command != s.Command || !slices.Equal(merged.Args, s.Args) || merged.URL != s.URL {
		t.Errorf("%+v became %+v, %v", s, merged, err)
	}
}
