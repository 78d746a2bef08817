package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// object is a JSON object of arguments, each value as it was written.
type object map[string]json.RawMessage

// arguments are the arguments of a call as they stand on the command line.
type arguments struct {
	base   object // of --args, stdin or a word that is an object; values win over it
	from   string // where base came from; "" = there is none
	values []value
}

// value is one word key=value, key:=json or key=@file, its file read.
type value struct {
	word string // as it was typed, for errors
	key  string
	text string
	json bool // text is JSON; otherwise the tool's schema decides what it is
}

const argsHint = "write key=value, key:=JSON, key=@FILE, or a whole JSON object; - reads one from stdin"

// readArguments reads the words behind a tool's name and the flag --args. All
// its errors are usage errors that name the word.
func (a *app) readArguments(ctx context.Context, words []string) (arguments, error) {
	var args arguments
	if a.flags.args != "" {
		if err := a.addBase(ctx, &args, "--args", a.flags.args); err != nil {
			return args, err
		}
	}
	for _, word := range words {
		if err := a.addWord(ctx, &args, word); err != nil {
			return args, err
		}
	}
	return args, nil
}

func (a *app) addWord(ctx context.Context, args *arguments, word string) error {
	if word == "-" || strings.HasPrefix(word, "{") {
		return a.addBase(ctx, args, fmt.Sprintf("argument %q", plain.Clip(word, 40)), word)
	}
	v, err := parseValue(ctx, word)
	if err != nil {
		return err
	}
	for _, other := range args.values {
		if other.key == v.key {
			return exit.Usage(fmt.Errorf("argument %q: %s is given already, as %q", word, v.key, other.word), "")
		}
	}
	args.values = append(args.values, v)
	return nil
}

// addBase takes a whole object, of which there can be one.
func (a *app) addBase(ctx context.Context, args *arguments, from, text string) error {
	if args.from != "" {
		return exit.Usage(fmt.Errorf("%s: the arguments are given already, by %s", from, args.from), "")
	}
	if text == "-" {
		input, err := files.ReadAll(ctx, a.In, files.MaxInput)
		if err != nil {
			return exit.Usage(fmt.Errorf("read stdin: %w", err), "")
		}
		from, text = "stdin", strings.TrimPrefix(string(input), "\ufeff") // some editors and shells begin with it
	}
	base, err := parseObject(text)
	if err != nil {
		return exit.Usage(fmt.Errorf("%s: %w", from, err), `expected a JSON object such as {"message": "hello"}`)
	}
	args.base, args.from = base, from
	return nil
}

// parseValue takes a word apart at its first "=". A file is read here.
func parseValue(ctx context.Context, word string) (value, error) {
	key, text, found := strings.Cut(word, "=")
	v := value{word: word, key: key, text: text}
	switch {
	case found && strings.HasSuffix(key, ":"):
		v.key, v.json = strings.TrimSuffix(key, ":"), true
		if err := validJSON(text); err != nil {
			return v, exit.Usage(fmt.Errorf("argument %q: %w", word, err), "for plain text write %s=…", v.key)
		}
	case found && strings.HasPrefix(text, "@"):
		contents, err := files.Read(ctx, text[1:], files.MaxInput)
		if err != nil {
			return v, exit.Usage(fmt.Errorf("argument %q: %w", word, err), "for text that begins with @ write %s:='%s'", key, plain.Quote(text))
		}
		v.text = string(contents)
	}
	if !found || v.key == "" {
		return v, exit.Usage(fmt.Errorf("argument %q: expected key=value", word), argsHint)
	}
	if !utf8.ValidString(v.key) || !utf8.ValidString(v.text) {
		return v, exit.Usage(fmt.Errorf("argument %q: not UTF-8 text", word), "")
	}
	return v, nil
}

// parseObject reads text as a JSON object. Names that come twice are errors:
// which of the two would count is for no one to guess.
func parseObject(text string) (object, error) {
	if err := validJSON(text); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if open, _ := decoder.Token(); open != json.Delim('{') {
		return nil, fmt.Errorf("expected an object, got %s", kindOf(text))
	}
	members := object{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key := name.(string) // validJSON has seen that it is one
		if _, twice := members[key]; twice {
			return nil, fmt.Errorf("%q comes twice", key)
		}
		var member json.RawMessage
		if err := decoder.Decode(&member); err != nil {
			return nil, err
		}
		members[key] = member
	}
	return members, nil
}

// validJSON says what is wrong with text as one JSON value, and where.
func validJSON(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("not UTF-8 text")
	}
	var any json.RawMessage
	err := json.Unmarshal([]byte(text), &any)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case strings.TrimSpace(text) == "":
		return errors.New("not JSON: it is empty")
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON: %w at byte %d", err, syntax.Offset)
	}
	return fmt.Errorf("not JSON: %w", err)
}

// untyped says whether there are values of which only the schema of the tool
// knows what they are.
func (args arguments) untyped() bool {
	for _, v := range args.values {
		if !v.json {
			return true
		}
	}
	return false
}

// build makes the one object that the tool gets. The schema may be nil.
func (args arguments) build(tool string, schema json.RawMessage) (object, error) {
	built, reader := object{}, readSchema(schema)
	for key, member := range args.base {
		built[key] = member
	}
	for _, v := range args.values {
		if v.json {
			built[v.key] = json.RawMessage(v.text)
			continue
		}
		wanted := reader.property(v.key)
		member, ok := coerce(v.text, wanted)
		if !ok {
			err := fmt.Errorf("argument %q: tool %q wants %s here", v.word, tool, wanted)
			return nil, exit.Usage(err, "%s:=JSON passes any value as it is", v.key)
		}
		built[v.key] = member
	}
	return built, nil
}
