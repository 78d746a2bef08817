package auth

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// What the manifest calls secret is hidden, whatever its name is.
func TestSecretSettings(t *testing.T) {
	known := []step.Setting{
		{Key: "pin", Secret: true}, {Key: "more", Kind: step.SettingList, Secret: true},
		{Key: "extra", Kind: step.SettingTable, Secret: true}, {Key: "url"}, {Key: "unset", Secret: true},
	}
	var hidden []string
	c := Config{
		Hide: func(texts ...string) { hidden = append(hidden, texts...) },
		Settings: func(context.Context) (json.RawMessage, error) {
			return json.RawMessage(`{"pin":"one","more":["two",3],"extra":{"k":"four"},"url":"shown"}`), nil
		},
	}
	if _, err := c.settings(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two", "four"}; !slices.Equal(hidden, want) {
		t.Errorf("hidden are %q, want %q", hidden, want)
	}
}
