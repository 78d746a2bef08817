package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// settings returns the settings of the server entry for a provider. A key that the provider does
// not know is an error, because it would silently do nothing.
func (c *Config) settings(ctx context.Context, known []step.Setting) (json.RawMessage, error) {
	given := json.RawMessage("{}")
	if c.Settings != nil {
		var err error
		if given, err = c.Settings(ctx); err != nil {
			return nil, err
		}
	}
	var values map[string]any
	if err := json.Unmarshal(given, &values); err != nil {
		return nil, err
	}
	if err := checkValues(known, values); err != nil {
		return nil, &SettingsError{err}
	}
	if c.Hide != nil {
		c.Hide(secretsOf(known, values)...)
	}
	return given, nil
}

// secretsOf returns the texts in the values of the settings that the manifest calls secret.
func secretsOf(known []step.Setting, values map[string]any) (texts []string) {
	for _, s := range known {
		var each []any
		switch v := values[s.Key].(type) {
		case string:
			each = []any{v}
		case []any:
			each = v
		case map[string]any:
			each = slices.Collect(maps.Values(v))
		}
		for _, value := range each {
			if text, ok := value.(string); ok && s.Secret {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// settingKinds maps each kind of setting to a value of its JSON type and a name for people.
var settingKinds = map[string]struct {
	like any
	name string
}{
	step.SettingText:  {"", "a text"},
	step.SettingFlag:  {false, "true or false"},
	step.SettingList:  {[]any{}, `a list of texts, ["…", "…"]`},
	step.SettingTable: {map[string]any{}, `a table of texts, { name = "…" }`},
}

// checkValues compares the values with the manifest's settings. Its errors quote no value. It
// reports an unknown key before a missing one, because the first may be a misspelling of the
// second.
func checkValues(known []step.Setting, values map[string]any) error {
	keys := make([]string, len(known))
	for i, s := range known {
		keys[i] = s.Key
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("auth.%s: there is no such key; there are %s", cleantext.Line(key, 64), strings.Join(keys, ", "))
		}
	}
	for _, s := range known {
		v, given := values[s.Key]
		kind := settingKinds[cmp.Or(s.Kind, step.SettingText)]
		switch {
		case !given && s.Required:
			return fmt.Errorf("auth.%s is missing: %s", s.Key, cleantext.Line(s.About, 200))
		case given && reflect.TypeOf(v) != reflect.TypeOf(kind.like):
			return fmt.Errorf("auth.%s: expected %s", s.Key, kind.name)
		}
	}
	return nil
}
