package plugintest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/flowrecord"
)

// Recording holds the flows of auth providers from a file that `wharf --record` has written.
type Recording struct {
	file  string // its name, for errors
	flows []*flowrecord.Flow
}

// ReadRecording reads a recording, or lines copied from one. It fails for a flow that was
// changed after it was recorded, and for a file without flows.
func ReadRecording(file string) (*Recording, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	flows, err := flowrecord.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Recording{filepath.Base(file), flows}, nil
}

// recorded is the check that runs the flows of the recordings.
var recorded = Check{ID: "recorded", Level: Required, Title: "The flows that were recorded are the same"}

// replay runs the flows of this provider in the recordings. A recording without such a flow is an
// [OptionError].
func (k *providerKit) replay() {
	if !k.wanted(recorded.ID) || len(k.options.Recordings) == 0 {
		return
	}
	c, name := recorded, k.plugin.Manifest().Name
	var first error
	count := 0
	for _, r := range k.options.Recordings {
		isOwn := func(f *flowrecord.Flow) bool { return f.Provider == name }
		if !slices.ContainsFunc(r.flows, isOwn) {
			k.optionErr = &OptionError{fmt.Sprintf("%s has flows of the provider %q, and none of %s", r.file, r.flows[0].Provider, name)}
			return
		}
		for _, f := range r.flows {
			if !isOwn(f) {
				continue
			}
			count++
			if err := f.Run(k.ctx, k.plugin); err != nil && first == nil {
				first = fmt.Errorf("%s, line %d, %w", r.file, f.Line, err)
			}
		}
	}
	c.Got = fmt.Sprintf("%d %s", count, map[bool]string{true: "flow", false: "flows"}[count == 1])
	k.judge(&c, first, nil)
}
