package plugintest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An OptionError is options that do not fit the plugin: a setting that it would not
// read, with which a host refuses a server entry, or scenarios of another kind.
type OptionError struct{ text string }

func (e *OptionError) Error() string { return e.text }

// checkSettings returns an OptionError for the first of them, by name, that the
// plugin does not have.
func checkSettings(plugin string, values map[string]string, known []string) error {
	has := "it has none"
	if len(known) > 0 {
		has = "it has: " + strings.Join(known, ", ")
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, key) {
			return &OptionError{fmt.Sprintf("plugin %s has no setting %q; %s", plugin, key, has)}
		}
	}
	return nil
}
