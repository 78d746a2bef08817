// Package args reads the arguments of a tool from a command line, and builds the tool's object
// from them by its schema. They may be key=value, key:=JSON, key=@FILE, values in their order,
// and whole objects.
package args

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// Arguments are the arguments of a call as they stand on the command line.
type Arguments struct {
	base   Object // of --args, stdin or a word that is an object; values win over it
	from   string // where base came from; "" = there is no base
	values []Value
	bare   []bareValue
}

// bareValue is a value without a key. The schema gives it one.
type bareValue struct {
	text string
	json bool                  // it stands in the parentheses of a call; else it is a word, and may be key:value
	pair func() (Value, error) // reads the word as key=value, which it is if [Schema.IsPair] says so; nil = it is a value

	after *Value // the key=TEXT right before the word; nil = there is none
}

// Value is one word key=value, key:=JSON or key=@FILE. A file has been read.
type Value struct {
	Key  string
	Text string

	word string // as it was typed, for errors
	json bool   // Text is JSON; otherwise the tool's schema decides its type
}

const formHint = "write key=value, key:=JSON, key=@FILE, or a whole JSON object; - reads one from stdin"

// TextForm is the hint for a word in place of an argument that can only be a string.
const TextForm = "write key=value or key=@FILE"

// Read reads the words behind a tool's name, and the text of --args if it is not
// empty. A "-" in place of an object reads it from stdin, if that is not nil. All errors are usage errors
// that name the word.
func Read(ctx context.Context, stdin io.Reader, flag string, words []string) (Arguments, error) {
	return Call{}.Read(ctx, stdin, flag, words)
}

// Read is [Read] with the arguments that stand in the parentheses of a call.
func (c Call) Read(ctx context.Context, stdin io.Reader, flag string, words []string) (Arguments, error) {
	var args Arguments
	for _, value := range c.values {
		args.bare = append(args.bare, bareValue{text: string(value), json: true})
	}
	if c.object != "" {
		if err := args.addBase(ctx, stdin, "the parentheses", c.object); err != nil {
			return args, err
		}
	}
	if flag != "" {
		if err := args.addBase(ctx, stdin, "--args", flag); err != nil {
			return args, err
		}
	}
	var before *Value // the word before, if it is key=TEXT
	for i, word := range words {
		if err := apart(words, i); err != nil && isPadded(words[i-1]) { // the schema decides whether it is a key
			args.bare[len(args.bare)-1].pair = func() (Value, error) { return Value{}, err }
		} else if err != nil {
			return args, err
		}
		bare, values := len(args.bare), len(args.values)
		if err := args.addWord(ctx, stdin, word); err != nil {
			return args, err
		}
		if len(args.bare) > bare {
			args.bare[bare].after = before
		}
		before = nil
		if len(args.values) > values {
			if v := args.values[values]; v.isText() {
				before = &v
			}
		}
	}
	return args, nil
}

// isText reports whether a value was typed as key=TEXT.
func (v Value) isText() bool { return !v.json && v.word == v.Key+"="+v.Text }

func (args *Arguments) addWord(ctx context.Context, stdin io.Reader, word string) error {
	if word == "-" || strings.HasPrefix(word, "{") {
		return args.addBase(ctx, stdin, fmt.Sprintf("argument %q", plain.Clip(word, 40)), word)
	}
	if !IsPair(word) && utf8.ValidString(word) {
		bare := bareValue{text: word}
		if strings.Contains(word, "=") {
			bare.pair = func() (Value, error) { return Parse(ctx, word) }
		}
		args.bare = append(args.bare, bare)
		return nil
	}
	v, err := Parse(ctx, word)
	if err != nil {
		return err
	}
	return args.addValue(v)
}

func (args *Arguments) addValue(v Value) error {
	for _, other := range args.values {
		if other.Key != v.Key {
			continue
		}
		hint := ""
		if v.isText() && other.isText() {
			hint = "if it takes a list, write " + plain.ShellWord(plain.Clip(v.Key+"=["+plain.Quote(other.Text)+","+plain.Quote(v.Text)+"]", 200))
			switch apart := takenApart(v.Key, other.Text); {
			case apart == "" || takenApart(v.Key, v.Text) == "":
			case strings.HasPrefix(v.Text, "["):
				hint = "the shell takes JSON apart, and single quotes keep it whole: " + apart
			default:
				hint += "; if it is JSON, single quotes keep it whole: " + apart
			}
		}
		return exit.Usage(fmt.Errorf("argument %q: %s is given already, as %q", v.word, v.Key, other.word), "%s", hint)
	}
	args.values = append(args.values, v)
	return nil
}

// named gives each value without a key its key: that of key:value, or else the next argument's
// in the order of [Schema.Names]. After a text, no word is given to an optional text or to an
// argument that it is no value of, because the two may be one text that lacks its quotes.
func (args Arguments) named(of string, schema *Schema) (Arguments, error) {
	args, err := args.paired(schema)
	if err != nil {
		return args, err
	}
	next := slices.DeleteFunc(schema.Names(), func(name string) bool {
		_, given := args.base[name]
		return given || slices.ContainsFunc(args.values, func(v Value) bool { return v.Key == name })
	})
	last := "" // the text that the word before is, as key=text
	for i, bare := range args.bare {
		if _, is := schema.properties[bare.text]; is && !bare.json && i+1 < len(args.bare) {
			return args, exit.Usage(notKeyed(bare.text), "write %s", plain.ShellWord(plain.Clip(bare.text+"="+args.bare[i+1].text, 80)))
		}
		if before := bare.after; before != nil && (schema.takesText(before.Key) || schema.choice(before.Key, before.Text+" "+bare.text)) {
			last = before.word
		} else if before != nil {
			last = ""
		}
		v, err := schema.keyed(of, bare, next)
		switch {
		case err != nil:
			return args, err
		case v.Key != "":
		case len(next) == 0, last != "" && !bare.json && !schema.follows(next[0], bare.text):
			return args, args.surplus(of, schema, i, last, len(next) > 0)
		default:
			v = bare.under(next[0])
		}
		if last = ""; !bare.json && schema.takesText(v.Key) {
			last = v.word
		}
		if err := args.addValue(v); err != nil {
			return args, err
		}
		next = slices.DeleteFunc(next, func(name string) bool { return name == v.Key })
	}
	return args, nil
}

// paired makes key=value of each word that is so only by the schema.
func (args Arguments) paired(schema *Schema) (Arguments, error) {
	bare := args.bare
	args.values, args.bare = slices.Clone(args.values), nil
	for _, word := range bare {
		if word.pair == nil || !schema.IsPair(word.text) {
			args.bare = append(args.bare, word)
			continue
		}
		v, err := word.pair()
		if err == nil {
			err = args.addValue(v)
		}
		if err != nil {
			return args, err
		}
	}
	return args, nil
}

func (b bareValue) under(key string) Value {
	v := Value{Key: key, Text: b.text, word: key + "=" + b.text, json: b.json}
	if b.json {
		v.word = key + ":=" + b.text
	}
	return v
}

// keyed reads a word key:value as an argument, and returns none for another word. An unknown key
// is an error, and so is a key without a value. So such a word never becomes the value of
// another argument. next holds the arguments that may still get a value.
func (s *Schema) keyed(of string, word bareValue, next []string) (Value, error) {
	key, text, found := strings.Cut(word.text, ":")
	_, known := s.properties[key]
	switch {
	case word.json:
	case found && known && text == "":
		return Value{}, exit.Usage(fmt.Errorf("argument %q: its value must come right after the colon", plain.Clip(key, 40)+":"), "write %s:VALUE; %[1]s= is an empty text", plain.Clip(key, 40))
	case found && known:
		return bareValue{text: strings.TrimLeft(text, " ")}.under(key), nil
	case known:
		return Value{}, exit.Usage(notKeyed(word.text), "%s", cmp.Or(s.usage(), formHint))
	case found && len(s.properties) > 0 && looksLikeKey(key, text):
		hint := cmp.Or(s.usage(), formHint)
		if near := s.near(key); near != "" && s.texts {
			hint = fmt.Sprintf("did you mean %q?", near)
		} else if near != "" {
			hint = fmt.Sprintf("did you mean %q? %s --no-validate sends it all the same", near, plain.ShellWord(plain.Clip(key, 40)+"=…"))
		} else if len(next) > 0 && s.takesText(next[0]) {
			hint = "a text with a colon is given by name: " + plain.ShellWord(plain.Clip(next[0], 40)+"="+plain.Clip(word.text, 40))
		}
		return Value{}, exit.Usage(fmt.Errorf("argument %q: %s has no argument of that name", plain.Clip(key, 40)+":…", of), "%s", hint)
	}
	return Value{}, nil
}

// surplus returns the error for a value for which no argument is left. last is the text before the
// value, or "". optional says that an optional argument is left, for which the value may be meant.
func (args Arguments) surplus(of string, schema *Schema, at int, last string, optional bool) error {
	word := args.bare[at].text
	object := ""
	if !schema.texts {
		object = args.bare[at].asObject()
	}
	switch {
	case schema.takesNone():
		return exit.Usage(fmt.Errorf("argument %q: %s takes no arguments", plain.Clip(word, 40), of), "%s", object)
	case last != "":
		for i, rest := range args.bare[at:] {
			if i > 0 && rest.after != nil {
				break
			}
			last += " " + rest.text
		}
		hint := "quote a text of several words: " + plain.ShellWord(last)
		if optional {
			hint += "; or " + schema.usage()
		}
		return exit.Usage(notKeyed(word), "%s", hint)
	case len(schema.properties) == 0:
		says := "names"
		if schema.empty {
			says = "takes"
		}
		return exit.Usage(fmt.Errorf("argument %q: %s %s no arguments", plain.Clip(word, 40), of, says), "%s", cmp.Or(object, "if it takes one all the same, write key=value"))
	case !optional:
		takes := "one argument, which has"
		if n := len(schema.properties); n > 1 {
			takes = fmt.Sprintf("%d arguments, and each has", n)
		}
		return exit.Usage(fmt.Errorf("argument %q: %s takes %s a value already", plain.Clip(word, 40), of, takes), "%s", cmp.Or(object, schema.usage()))
	}
	return exit.Usage(notKeyed(word), "%s", cmp.Or(object, schema.usage(), formHint))
}

// asObject returns a hint for a word that may be key=value for a key that the schema does not name, or "".
func (b bareValue) asObject() string {
	key, text, _ := cutPair(b.text)
	if b.pair == nil || strings.Contains(key, "://") || strings.ContainsAny(key, "? \t\n") || strings.ContainsAny(key[:1], `/.~\`) {
		return ""
	}
	return fmt.Sprintf("an argument %q is given as an object: %s", plain.Clip(key, 40), plain.ShellWord(objectOf(key, json.RawMessage(plain.Quote(text)))))
}

func notKeyed(word string) error { return fmt.Errorf("argument %q: expected key=value", word) }

// addBase reads a whole object. A call can have only one.
func (args *Arguments) addBase(ctx context.Context, stdin io.Reader, from, text string) (err error) {
	if args.from != "" {
		return exit.Usage(fmt.Errorf("%s: the arguments are given already, by %s", from, args.from), "write one object, with all of them; key=value adds to it")
	}
	args.base, args.from, err = readWhole(ctx, stdin, from, text)
	return err
}

// unread is the error of an argument whose file cannot be read. A shell replaces ~ at the beginning of a word alone.
func unread(key, text string, err error) error {
	literal := fmt.Sprintf("for text that begins with @ write %s:='%s'", key, plain.Quote(text))
	if rest, ofHome := strings.CutPrefix(text, "@~/"); ofHome {
		if home, wrong := os.UserHomeDir(); wrong == nil {
			return exit.Usage(err, "the ~ behind @ is left as it is: write %s; %s", plain.ShellWord(key+"=@"+filepath.Join(home, rest)), literal)
		}
	}
	if text == "@-" && runtime.GOOS != "windows" {
		return exit.Usage(err, "to read stdin write %s=@/dev/stdin; %s", plain.ShellWord(key), literal)
	}
	if text == "@" {
		return exit.Usage(err, "write the name of the file behind the @; %s", literal)
	}
	return exit.Usage(err, "%s", literal)
}

// Parse splits a word at its first "=". A file is read here.
func Parse(ctx context.Context, word string) (Value, error) {
	key, text, found := strings.Cut(word, "=")
	v := Value{Key: key, Text: text, word: word}
	switch {
	case !found || key == "" || key == ":":
		return v, exit.Usage(notKeyed(word), formHint)
	case strings.HasSuffix(key, ":"):
		v.Key, v.json = strings.TrimSuffix(key, ":"), true
		if err := validJSON(text); err != nil {
			return v, exit.Usage(fmt.Errorf("argument %q: %w", word, err), "for plain text write %s=…", v.Key)
		}
	case strings.HasPrefix(text, "@"):
		contents, err := files.Read(ctx, text[1:], files.MaxInput)
		if err != nil {
			return v, unread(key, text, fmt.Errorf("argument %q: %w", word, err))
		}
		v.Text = string(contents)
	}
	if !utf8.ValidString(v.Key) || !utf8.ValidString(v.Text) {
		hint := ""
		if v.Text != text {
			hint = fmt.Sprintf("most tools take bytes as base64: %s=\"$(base64 < %s | tr -d '\\n')\"", plain.Clip(key, 40), plain.ShellWord(text[1:]))
		}
		return v, exit.Usage(fmt.Errorf("argument %q: not UTF-8 text", word), "%s", hint)
	}
	return v, nil
}

// Pairs reads words that have no schema, such as those of a template: each is key=value or key=@FILE, whatever its key.
// hint is that of a word that is neither.
func Pairs(ctx context.Context, words []string, hint string) (map[string]string, error) {
	var args Arguments
	for i, word := range words {
		if err := apart(words, i); err != nil {
			return nil, err
		}
		if strings.IndexByte(word, '=') < 1 {
			return nil, exit.Usage(notKeyed(word), "%s", hint)
		}
		v, err := Parse(ctx, word)
		if err == nil {
			err = args.addValue(v)
		}
		if err != nil {
			return nil, err
		}
	}
	return args.Texts("", nil)
}

// NeedSchema reports whether some values get their key or type only from the tool's schema.
func (args Arguments) NeedSchema() bool {
	return args.NeedNames() || slices.ContainsFunc(args.values, func(v Value) bool { return !v.json })
}

// NeedNames reports whether some words get their key only from the tool's schema.
func (args Arguments) NeedNames() bool { return len(args.bare) > 0 }

// Texts returns the values of arguments that can only be strings, such as those of a prompt. It
// returns an error if a required one is missing. of names what the arguments belong to, for errors.
// schema is one of [TextSchema]. It may be nil: then a value without a key is an error.
func (args Arguments) Texts(of string, schema *Schema) (map[string]string, error) {
	texts := make(map[string]string)
	for key, value := range args.base {
		var text *string
		if json.Unmarshal(value, &text) != nil || text == nil {
			return nil, exit.Usage(fmt.Errorf("%s: %q can only be a string", args.from, plain.Clip(key, 40)), "write it in double quotes")
		}
		texts[key] = *text
	}
	var err error
	if schema != nil {
		args, err = args.named(of, schema)
	} else if args, err = args.paired(new(Schema)); err == nil && len(args.bare) > 0 {
		err = exit.Usage(notKeyed(args.bare[0].text), TextForm)
	}
	if err != nil {
		return nil, err
	}
	for _, v := range args.values {
		if near := mistyped(schema, v.Key); near != "" {
			return nil, exit.Usage(fmt.Errorf("argument %q: %s has no argument of that name", plain.Clip(v.Key, 40)+"=…", of), "did you mean %q?", near)
		}
		if v.json {
			return nil, exit.Usage(fmt.Errorf("argument %q: it can only be a string", v.word), "write %s=value", v.Key)
		}
		texts[v.Key] = v.Text
	}
	if schema != nil {
		for _, name := range schema.required {
			if _, given := texts[name]; !given {
				return nil, exit.Usage(fmt.Errorf("%s: the argument %q is missing", of, name), "%s", schema.usage())
			}
		}
	}
	return texts, nil
}

// mistyped returns the key of the schema that an unknown key was probably meant to be, or "".
func mistyped(schema *Schema, key string) string {
	if schema == nil || slices.Contains(schema.order, key) {
		return ""
	}
	return schema.near(key)
}
