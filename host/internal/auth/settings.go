package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// settings returns what the server entry says to a provider, if the provider
// knows all of it. What it does not read would silently do nothing.
func (a *Account) settings(ctx context.Context, p Provider) (json.RawMessage, error) {
	given := json.RawMessage("{}")
	if a.config.Settings != nil {
		var err error
		if given, err = a.config.Settings(ctx); err != nil {
			return nil, err
		}
	}
	var values map[string]any
	if err := json.Unmarshal(given, &values); err != nil {
		return nil, err
	}
	if err := checkValues(p.Manifest().Settings, values); err != nil {
		return nil, &SettingsError{err}
	}
	return given, nil
}

// SettingsError says that a server entry does not fit the provider that it names.
// errors.As finds it in an [Error]. No value is in it.
type SettingsError struct{ Err error }

func (e *SettingsError) Error() string { return e.Err.Error() }
func (e *SettingsError) Unwrap() error { return e.Err }

// checkValues holds the values against what a manifest says of them. No value
// is in its errors. A key that there is not comes first: it may be the one that is
// missing, misspelt.
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
		switch {
		case !given && s.Required:
			return fmt.Errorf("auth.%s is missing: %s", s.Key, cleantext.Line(s.About, 200))
		case given && !hasKind(s.Kind, v):
			return fmt.Errorf("auth.%s: expected %s", s.Key, kindName(s.Kind))
		}
	}
	return nil
}

// hasKind reports whether a value of JSON is of a kind of settings.
func hasKind(kind string, v any) bool {
	switch v.(type) {
	case string:
		return kind == "" || kind == step.SettingText
	case bool:
		return kind == step.SettingFlag
	case []any:
		return kind == step.SettingList
	case map[string]any:
		return kind == step.SettingTable
	}
	return false
}

func kindName(kind string) string {
	switch kind {
	case step.SettingFlag:
		return "true or false"
	case step.SettingList:
		return `a list of texts, ["…", "…"]`
	case step.SettingTable:
		return `a table of texts, { name = "…" }`
	}
	return "a text"
}
