package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// ReadCall splits a word that is a whole call, tool(key: JSON, …), into the tool and an
// object of its arguments. For every other word the object is "".
func ReadCall(word string) (tool, object string, err error) {
	tool, rest, found := strings.Cut(word, "(")
	if !found || tool == "" || !strings.HasSuffix(rest, ")") {
		return word, "", nil
	}
	object, err = readPairs(strings.TrimSuffix(rest, ")"))
	if err != nil {
		return "", "", exit.Usage(fmt.Errorf("%s: %w", plain.Clip(word, 60), err), `write %s(key: "text", other: 1), in quotes of the shell`, tool)
	}
	return tool, object, nil
}

// readPairs reads key: JSON, separated by commas. A key may be quoted.
func readPairs(text string) (string, error) {
	members := [][]byte{}
	for rest := strings.TrimSpace(text); rest != ""; {
		key, value, found := strings.Cut(rest, ":")
		if key = strings.Trim(strings.TrimSpace(key), `"`); !found || key == "" {
			return "", fmt.Errorf("expected key: value, got %q", plain.Clip(rest, 40))
		}
		decoder := json.NewDecoder(strings.NewReader(value))
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return "", fmt.Errorf("%s: expected a JSON value, got %q", plain.Clip(key, 40), plain.Clip(strings.TrimSpace(value), 40))
		}
		members = append(members, append([]byte(plain.Quote(key)+":"), raw...))
		rest = strings.TrimSpace(value[decoder.InputOffset():])
		if rest == "" {
			break
		}
		if rest, found = strings.CutPrefix(rest, ","); !found {
			return "", fmt.Errorf("expected a comma, got %q", plain.Clip(rest, 40))
		}
		if rest = strings.TrimSpace(rest); rest == "" {
			return "", errors.New("nothing follows the last comma")
		}
	}
	return "{" + string(bytes.Join(members, []byte(","))) + "}", nil
}
