package auth

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/extism"
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
	if err := extism.CheckValues("auth", known, values); err != nil {
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
