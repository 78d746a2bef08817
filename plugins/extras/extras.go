// Package extras is the index of plugins that are built from this repository under names of
// their own, and are no part of the program. `wharf plugin add NAME` installs one of them. The
// hash in the index is trusted; the place that a file comes from is not.
package extras

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

// Extra is one entry of the index.
type Extra struct {
	Name    string   `json:"name"`    // what server entries call it
	About   string   `json:"about"`   // what it is for, in a line
	Source  string   `json:"source"`  // its folder in the repository
	Version string   `json:"version"` // that of its manifest
	SHA256  string   `json:"sha256"`  // of the file, lower-case hex
	Size    int64    `json:"size"`    // of the file, in bytes
	Asks    []string `json:"asks"`    // the kinds that it asks for

	Embedded bool `json:"embedded,omitempty"` // the program contains the file, which has only a few KB

	URL    string `json:"-"` // where it is published
	Module []byte `json:"-"` // of an embedded one; shared, and not to be changed
}

//go:embed index.json built/*.wasm
var files embed.FS

// List returns the index, ordered by name. A program whose index cannot be read was built
// wrongly, and an error says so.
func List() ([]Extra, error) {
	text, err := files.ReadFile("index.json")
	if err != nil {
		return nil, err
	}
	var index struct {
		URL    string  `json:"url"`
		Extras []Extra `json:"extras"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("index of extras: %w", err)
	}
	for i := range index.Extras {
		e := &index.Extras[i]
		e.URL = strings.NewReplacer("{name}", e.Name, "{version}", e.Version, "{sha256}", e.SHA256).Replace(index.URL)
		if e.Embedded {
			if e.Module, err = files.ReadFile("built/" + e.Name + ".wasm"); err != nil {
				return nil, err
			}
		}
	}
	return index.Extras, nil
}
