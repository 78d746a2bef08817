package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/wharf-mcp/wharf/internal/registrytest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// The registry's own source has the schema of descriptions and many examples.
const (
	sourceOfRegistry = "github.com/modelcontextprotocol/registry"
	versionOfSource  = "v1.8.8"
)

var inMarkdown = regexp.MustCompile("(?s)```json\n(.*?)```")

// The descriptions of our tests are what the published schema says they are, and what is
// published as examples can be run, but for programs that listen.
func TestPublished(t *testing.T) {
	testenv.NeedsLong(t)
	dir := testenv.Source(t, sourceOfRegistry, versionOfSource)
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile(filepath.Join(dir, "internal", "validators", "schemas", "2025-12-11.json"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := registrytest.Load(examples)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range ours {
		if err := schema.Validate(a.Server); err != nil {
			t.Errorf("%s: %v", a.Server["name"], err)
		}
	}
	var all []json.RawMessage
	seed, err := os.ReadFile(filepath.Join(dir, "data", "seed.json"))
	if err == nil {
		err = json.Unmarshal(seed, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "docs", "reference", "server-json", "generic-server-json.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range inMarkdown.FindAllSubmatch(text, -1) {
		all = append(all, example[1])
	}
	if len(all) < 20 {
		t.Fatalf("only %d examples are there", len(all))
	}
	for _, text := range all {
		a := answer{Server: text}
		l, err := a.listing()
		if err != nil {
			t.Errorf("%v: %s", err, text)
			continue
		}
		for i, o := range l.Server.Options(false) {
			listens := i < len(l.Server.Packages) && l.Server.Packages[i].Transport.Type != "stdio"
			if (o.Unusable != "") != listens {
				t.Errorf("%s: %s %s: %q", l.Server.Name, o.Kind, o.Runs, o.Unusable)
			}
			if o.Unusable == "" && o.Bundle == nil {
				checkOption(t, o)
			}
		}
	}
}
