package registrytest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What the registry of the tests answers is what the published rules say a registry
// answers.
func TestAnswersAreValid(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	rules := func(pointer string) *jsonschema.Schema {
		s, err := compiler.Compile(filepath.Join("testdata", "answers.schema.json") + pointer)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	listed, single := rules(""), rules("#/$defs/answer")
	site := httptest.NewServer(Handler(filepath.Join("testdata", "servers")))
	defer site.Close()
	get := func(path string, status int, s *jsonschema.Schema) (answer map[string]any) {
		t.Helper()
		resp, err := http.Get(site.URL + "/v0.1" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != status {
			t.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
		}
		if s != nil {
			if err := s.Validate(answer); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return answer
	}
	count := 0
	for query := "?limit=2&version=latest"; ; {
		p := get("/servers"+query, 200, listed)
		count += len(p["servers"].([]any))
		next, more := p["metadata"].(map[string]any)["nextCursor"].(string)
		if !more {
			break
		}
		query = "?limit=2&version=latest&cursor=" + next
	}
	if count != 5 { // all but the deleted one
		t.Errorf("%d servers are listed", count)
	}
	if p := get("/servers/io.example%2Fweather/versions", 200, listed); len(p["servers"].([]any)) != 2 {
		t.Errorf("%v", p)
	}
	get("/servers/io.example%2Fweather/versions/latest", 200, single)
	get("/servers/io.example%2Fgone-weather/versions/1.0.0?include_deleted=true", 200, single)
	get("/servers/io.example%2Fgone-weather/versions/1.0.0", 404, nil)
	get("/servers/io.example%2Fnone/versions/latest", 404, nil)
	get("/servers?search=ab", 422, nil)
	get("/servers?limit=101", 422, nil)
}
