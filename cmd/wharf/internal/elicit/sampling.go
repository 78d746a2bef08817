package elicit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// sampling holds what a person is shown of a request for a model's answer. That is all of it, as
// every decoder reads it, because the sampler gets all of it.
type sampling struct {
	SystemPrompt string            `json:"systemPrompt"`
	Messages     []json.RawMessage `json:"messages"`
	Tools        json.RawMessage   `json:"tools"`

	messages []string // with the role before each
	others   string   // JSON of the other params; "" for none
}

// readSampling reads the params of sampling/createMessage. Objects whose names a decoder
// could take for each other are an error, and what is not known is shown as JSON.
func readSampling(params json.RawMessage) (*sampling, error) {
	others, err := members(params)
	if err != nil {
		return nil, err
	}
	s := new(sampling)
	if err := json.Unmarshal(params, s); err != nil {
		return nil, err
	}
	for _, text := range s.Messages {
		message, err := shownMessage(text)
		if err != nil {
			return nil, err
		}
		s.messages = append(s.messages, message)
	}
	for _, name := range []string{"systemPrompt", "messages", "tools"} {
		delete(others, name) // shown by themselves
	}
	if len(others) > 0 {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		err = e.Encode(others)
		s.others = strings.TrimSpace(text.String())
	}
	return s, err
}

// shownMessage returns the text of a message as the person is shown it.
func shownMessage(text json.RawMessage) (string, error) {
	found, err := members(text)
	if err != nil {
		return "", err
	}
	var message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(text, &message); err != nil {
		return "", err
	}
	content, err := textOf(message.Content)
	delete(found, "role")
	delete(found, "content")
	if len(found) > 0 {
		content = string(text)
	}
	return message.Role + ": " + content, err
}

// textOf returns the text of a message, or of a list of its parts. It shows as JSON a part that
// is no text, or that has more members than its type and its text.
func textOf(content json.RawMessage) (string, error) {
	var parts []json.RawMessage
	if json.Unmarshal(content, &parts) != nil {
		parts = []json.RawMessage{content}
	}
	var lines []string
	for _, raw := range parts {
		text := string(raw)
		if bytes.HasPrefix(raw, []byte("{")) {
			found, err := members(raw)
			if err != nil {
				return "", err
			}
			var part mcp.Content
			if len(found) == 2 && json.Unmarshal(found["text"], &part.Text) == nil && json.Unmarshal(found["type"], &part.Type) == nil && part.Type == mcp.ContentText {
				text = part.Text
			}
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n"), nil
}

// members returns the members of an object. Two names that some decoders take for the same are
// an error, since decoders disagree on which counts.
func members(text json.RawMessage) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("expected an object")
	}
	found, seen := make(map[string]json.RawMessage), make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		name := key.(string)
		if seen[folded(name)] {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		found[name], seen[folded(name)] = value, true
	}
	return found, nil
}

// folded returns a name as decoders that ignore case compare it. Both steps are needed: the
// first makes "ſ" a letter of ASCII, the second "K".
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }
