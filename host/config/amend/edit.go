package amend

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// Edit sets a key of a configuration, or removes it.
type Edit struct {
	Path  []string // "servers", "files", "timeout"
	Value any      // see [tomledit.Key]; nil removes the key
}

// maxEdits is how many edits one change has at most. A person could not look through more.
const maxEdits = 100

// harmless are the keys of a server that a program may change without asking: none of them changes what is
// run, reached or given away, or what a server may be asked for.
var harmless = []string{
	"timeout", "start_timeout", "max_timeout", "ping", "ping_timeout", "idle_stop", "message_cap",
	"framing", "protocol", "share", "copies",
}

// Edits sets and removes keys of a file, one after the other.
func Edits(f *tomledit.File, edits []Edit) (*Change, error) {
	if len(edits) == 0 || len(edits) > maxEdits {
		return nil, fmt.Errorf("expected 1 to %d edits, not %d", maxEdits, len(edits))
	}
	return newChange(f, func(c *Change) (err error) {
		c.Lines, c.Text = []string{cleantext.Visible(f.Path) + " would be changed:"}, f.Text
		for _, e := range edits {
			before := c.Text
			if c.Text, err = e.on(before); err != nil {
				return err
			}
			c.Lines = append(c.Lines, differing(before, c.Text)...)
		}
		read, err := config.Parse(f.Path, c.Text)
		if err != nil {
			return err
		}
		if c.Grave, err = grave(f.Text, c.Text); err != nil {
			return err
		}
		return c.describe(read)
	})
}

// on returns the text of a file after the edit.
func (e Edit) on(text []byte) ([]byte, error) {
	switch {
	case len(e.Path) == 0 || slices.Contains(e.Path, ""):
		return nil, errors.New("the path of an edit is empty, or has an empty name; write the names of the tables and of the key")
	case e.Value == nil:
		return tomledit.Remove(text, e.Path...)
	}
	if values, isTable := e.Value.(map[string]any); isTable && len(e.Path) == 2 { // a server or a plugin, with a heading of its own
		t := tomledit.Table{Path: e.Path}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			t.Keys = append(t.Keys, tomledit.Key{Name: name, Value: values[name]})
		}
		return tomledit.AddTables(text, t)
	}
	return tomledit.SetKey(text, e.Path, e.Value)
}

// describe adds to the lines what the servers do whose keys have changed gravely.
func (c *Change) describe(read *config.File) error {
	for _, s := range read.Servers {
		about := func(key string) bool {
			return key == "servers."+s.Name || strings.HasPrefix(key, "servers."+s.Name+".")
		}
		if !slices.ContainsFunc(c.Grave, about) {
			continue
		}
		lines, err := Lines(s)
		if err != nil {
			return err
		}
		c.Lines = append(append(c.Lines, cleantext.Visible(s.Name)+" then is:"), lines...)
	}
	return nil
}

// grave returns the keys in which two files differ and that a person has to agree to.
func grave(before, after []byte) (keys []string, err error) {
	var was, is map[string]any
	if _, err := toml.Decode(strings.TrimPrefix(string(before), "\ufeff"), &was); err != nil {
		return nil, err
	}
	if _, err := toml.Decode(strings.TrimPrefix(string(after), "\ufeff"), &is); err != nil {
		return nil, err
	}
	compare(was, is, nil, func(path []string) { keys = append(keys, strings.Join(path, ".")) })
	return keys, nil
}

// compare calls found with the paths of grave differences between two tables.
func compare(was, is map[string]any, path []string, found func(path []string)) {
	both := maps.Clone(was)
	if both == nil {
		both = make(map[string]any)
	}
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		at := append(slices.Clone(path), name)
		old, isOld := was[name].(map[string]any)
		now, isNow := is[name].(map[string]any)
		switch {
		case isHarmless(at, is[name]) || reflect.DeepEqual(was[name], is[name]):
		case len(at) == 1 && (isOld || isNow) || isOld && isNow && len(at) == 2:
			compare(old, now, at, found)
		default:
			found(at)
		}
	}
}

// isHarmless reports whether a program may change what is at a path without asking. now is what is there
// after the change; nil is nothing.
func isHarmless(path []string, now any) bool {
	switch {
	case path[0] == "max_timeout" || path[0] == "reconnect":
		return true
	case path[0] != "servers" || len(path) < 3:
		return false
	case path[2] == "disabled":
		return now == true
	}
	return slices.Contains(harmless, path[2])
}
