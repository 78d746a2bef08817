package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/private"
)

// Bounds of a lock.
const (
	version    = 1
	maxBook    = 1 << 20
	maxEntries = 256
)

// book is what the file says.
type book struct {
	Version int     `json:"version"`
	Plugins []Entry `json:"plugins"`
}

// format returns what parse reads, or says why it would not be read.
func format(entries []Entry) ([]byte, error) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	b := book{version, append([]Entry{}, entries...)}
	if err := b.check(); err != nil {
		return nil, err
	}
	text, err := private.Format(b)
	if err == nil && len(text) > maxBook {
		err = fmt.Errorf("it would have %d bytes; at most %d are kept", len(text), maxBook)
	}
	return text, err
}

// parse reads the text of a lock and believes nothing: what it returns could have
// been written by this program.
func parse(text []byte) ([]Entry, error) {
	var b book
	err := private.Parse(text, &b)
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, err
	}
	return b.Plugins, nil
}

func (b *book) check() error {
	switch {
	case b.Version != version:
		return fmt.Errorf("it is of version %d; expected %d", b.Version, version)
	case len(b.Plugins) > maxEntries:
		return fmt.Errorf("there are %d plugins; at most %d are kept", len(b.Plugins), maxEntries)
	}
	for i, e := range b.Plugins {
		if err := e.check(); err != nil {
			return fmt.Errorf("plugin %d: %w", i+1, err)
		}
		if i > 0 && b.Plugins[i-1].Name >= e.Name {
			return fmt.Errorf("plugin %d is out of order, or there twice", i+1)
		}
	}
	return nil
}
