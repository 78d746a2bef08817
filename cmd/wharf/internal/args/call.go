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

// Call is a word that names a tool, or is a whole call, tool(JSON, key: JSON, …).
type Call struct {
	Tool string

	object string            // the pairs, as JSON; "" without pairs and without parentheses
	values []json.RawMessage // those without a key
}

// ReadCall reads a word.
func ReadCall(word string) (Call, error) {
	tool, rest, found := strings.Cut(word, "(")
	rest = strings.TrimRight(rest, " \t\n")
	inside, closed := strings.CutSuffix(rest, ")")
	if !found || tool == "" || !closed && !IsKey(tool) {
		return Call{Tool: word}, nil
	}
	if !closed {
		return Call{Tool: tool}, unclosed(word, tool, rest)
	}
	call := Call{Tool: strings.TrimRight(tool, " ")}
	if err := call.read(inside); err != nil {
		if wrong := (*wrongPair)(nil); errors.As(err, &wrong) && wrong.write != "" {
			return call, exit.Usage(fmt.Errorf("%s: %w", plain.Clip(word, 60), err), "%s", wrong.write)
		}
		return call, exit.Usage(fmt.Errorf("%s: %w", plain.Clip(word, 60), err), asCall, tool, tool)
	}
	return call, nil
}

const asCall = `write %s("text", 1) or %s(key: "text", other: 1), in quotes of the shell`

// unclosed returns the error of a call that does not end with its closing parenthesis. rest is what
// stands behind the opening one. The server that a person may have written before the tool is not
// known here: the hint says what to append, and not what to write in place of all.
func unclosed(word, tool, rest string) error {
	at, trial := strings.LastIndexByte(rest, ')'), Call{}
	if at >= 0 && trial.read(rest[:at]) == nil {
		return exit.Usage(fmt.Errorf("%q: %q stands behind the closing parenthesis", plain.Clip(word, 60), plain.Clip(strings.TrimSpace(rest[at+1:]), 40)),
			"leave it out, or write it as an argument within the parentheses")
	}
	err := fmt.Errorf("%q: the closing parenthesis is missing", plain.Clip(word, 60))
	if trial.read(rest) != nil {
		return exit.Usage(err, asCall, tool, tool)
	}
	return exit.Usage(err, "write it with a ) at its end, in quotes of the shell")
}

// read reads what stands in the parentheses: JSON and key: JSON, separated by commas. A key
// may be quoted. One object alone holds all arguments, as in JavaScript.
func (c *Call) read(text string) error {
	inside, closed := strings.CutSuffix(strings.TrimSpace(text), "}")
	if inside, found := strings.CutPrefix(inside, "{"); found && closed {
		all := Call{}
		if json.Valid([]byte(strings.TrimSpace(text))) {
			c.object = strings.TrimSpace(text)
			return nil
		} else if all.readList(inside) == nil && len(all.values) == 0 { // keys without quotes
			c.object = all.object
			return nil
		}
	}
	return c.readList(text)
}

// readList reads JSON and key: JSON, separated by commas.
func (c *Call) readList(text string) error {
	pairs := [][]byte{}
	for rest := strings.TrimSpace(text); rest != ""; {
		value, after, err := readValue(rest)
		if err != nil || strings.HasPrefix(after, ":") {
			var pair []byte
			if pair, after, err = readPair(rest); err != nil {
				return err
			}
			pairs = append(pairs, pair)
		} else {
			c.values = append(c.values, value)
		}
		if rest = after; rest == "" {
			break
		}
		comma := false
		if rest, comma = strings.CutPrefix(rest, ","); !comma {
			return fmt.Errorf("expected a comma, got %q", plain.Clip(rest, 40))
		}
		if rest = strings.TrimSpace(rest); rest == "" {
			return errors.New("nothing follows the last comma")
		}
	}
	if len(pairs) > 0 || len(c.values) == 0 {
		c.object = "{" + string(bytes.Join(pairs, []byte(","))) + "}"
	}
	return nil
}

// wrongPair is the error of a text that is no pair. write says what was probably meant.
type wrongPair struct{ says, write string }

func (e *wrongPair) Error() string { return e.says }

// readPair reads key: JSON, and returns it as a member of an object, and what follows.
func readPair(text string) (pair []byte, after string, err error) {
	first, _, _ := strings.Cut(text, ",")
	key, value, found := strings.Cut(text, ":")
	if word, given, equals := strings.Cut(first, "="); equals && IsKey(strings.TrimSpace(word)) {
		return nil, "", &wrongPair{fmt.Sprintf("expected key: value, got %q", plain.Clip(first, 40)),
			fmt.Sprintf("a colon comes after a key: %s: %s", strings.TrimSpace(word), plain.Clip(strings.TrimSpace(given), 40))}
	}
	if key = strings.Trim(strings.TrimSpace(key), `"`); !found || key == "" {
		return nil, "", &wrongPair{fmt.Sprintf("expected a JSON value, or key: value, got %q", plain.Clip(text, 40)), inQuotes("", first)}
	}
	raw, after, err := readValue(value)
	if err != nil {
		first, _, _ = strings.Cut(value, ",")
		return nil, "", &wrongPair{fmt.Sprintf("%s: expected a JSON value, got %q", plain.Clip(key, 40), plain.Clip(strings.TrimSpace(value), 40)),
			inQuotes(plain.Clip(key, 40)+": ", first)}
	}
	return append([]byte(plain.Quote(key)+":"), raw...), after, nil
}

// inQuotes returns a text with the quotes that it lacks, or "" if it is no text.
func inQuotes(key, text string) string {
	text = strings.TrimSpace(text)
	if bare := strings.Trim(text, "'"); bare != "" && !strings.ContainsAny(bare, "\"'{}[]()") {
		return "write a text in double quotes: " + key + plain.Quote(plain.Clip(bare, 40))
	}
	return ""
}

// readValue reads the JSON value that a text begins with, and returns what follows.
func readValue(text string) (raw json.RawMessage, after string, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if err = decoder.Decode(&raw); err != nil {
		return nil, "", err
	}
	return raw, strings.TrimSpace(text[decoder.InputOffset():]), nil
}
