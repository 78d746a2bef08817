package amend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// ReadEntry reads an entry that is written in JSON: an object with the keys of [servers.NAME], and name. It
// is read as strictly as one of a file.
func ReadEntry(path string, text []byte) (config.Server, error) {
	value, err := ReadValue(text)
	if err != nil {
		return config.Server{}, err
	}
	keys, isTable := value.(map[string]any)
	name, isText := keys["name"].(string)
	if !isTable || !isText {
		return config.Server{}, errors.New(`expected an object with a name, such as {"name": "files", "command": "npx"}`)
	}
	if err := config.CheckName(name); err != nil {
		return config.Server{}, err
	}
	delete(keys, "name")
	t := tomledit.Table{Path: []string{"servers", name}}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		t.Keys = append(t.Keys, tomledit.Key{Name: key, Value: keys[key]})
	}
	file, err := tomledit.AddTables(nil, t)
	if err != nil {
		return config.Server{}, err
	}
	read, err := config.Parse(path, file)
	if err != nil {
		return config.Server{}, withoutLines(err)
	}
	if len(read.Servers) != 1 {
		return config.Server{}, errors.New("expected one server")
	}
	return read.Servers[0], nil
}

// withoutLines takes the lines out of mistakes in a text that no person has.
func withoutLines(err error) error {
	for _, one := range unjoined(err) {
		var mistake *config.Error
		if errors.As(one, &mistake) {
			mistake.File, mistake.Line = "", 0
		}
	}
	return err
}

func unjoined(err error) []error {
	if list, is := err.(interface{ Unwrap() []error }); is {
		return list.Unwrap()
	}
	return []error{err}
}

// maxDepth is how deep tables and lists may lie within each other in JSON that becomes a value of a file.
const maxDepth = 16

// ReadValue reads a JSON value as one of a configuration, see [tomledit.Key]. There is no null in it.
func ReadValue(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("expected JSON: %w", err)
	}
	return plain(value, 0)
}

// plain turns a decoded JSON value into one of a configuration.
func plain(value any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("tables and lists lie more than %d deep", maxDepth)
	}
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is too large", v)
		}
		return f, nil
	case []any:
		for i := range v {
			var err error
			if v[i], err = plain(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			var err error
			if v[key], err = plain(v[key], depth+1); err != nil {
				return nil, err
			}
		}
	case nil:
		return nil, errors.New("there is no null in a configuration; leave it out")
	}
	return value, nil
}
