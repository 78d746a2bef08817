package args

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

func TestExplain(t *testing.T) {
	args := Arguments{base: Object{"base": json.RawMessage("1")}, from: "--args", values: []Value{
		{word: "count=11", Key: "count", Text: "11"}, {word: "token=hunter2", Key: "token", Text: "hunter2"},
		{word: `filter:={"a":"hunter2"}`, Key: "filter", Text: `{"a":"hunter2"}`, json: true}, {word: "on:=true", Key: "on", Text: "true", json: true},
	}}
	sent, err := args.Build("tool", json.RawMessage(`{"properties":{"count":{"type":"integer"}}}`), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		fault      host.Fault
		want, hint string
	}{
		{host.Fault{Pointer: "/count", Want: "at most 10"}, `argument "count=11": tool "tool" wants at most 10 here`, ""},
		{host.Fault{Pointer: "/on", Want: "a number", Got: "a boolean"}, `argument "on:=true": tool "tool" wants a number here, not a boolean`, ""},
		{host.Fault{Pointer: "/token", Want: `"a"`, Got: "a string of 7 characters"}, `argument "token=…": tool "tool" wants "a" here, not a string of 7 characters`, ""},
		{host.Fault{Pointer: "/filter/a", Want: "an integer"}, `argument "filter:=…": tool "tool" wants an integer at /filter/a`, ""},
		{host.Fault{Pointer: "/base", Want: "a string"}, `argument "base" in --args: tool "tool" wants a string here`, ""},
		{host.Fault{Want: "at least 5 properties"}, `tool "tool" wants at least 5 properties`, ""},
		{host.Fault{Kind: host.FaultMissing, Pointer: "/id"}, `tool "tool" wants the argument id`, ""},
		{host.Fault{Kind: host.FaultMissing, Pointer: "/counts", Near: "count"}, `tool "tool" wants the argument counts`, `is "count" meant to be "counts"?`},
		{host.Fault{Kind: host.FaultMissing, Pointer: "/filter/id"}, `argument "filter:=…": tool "tool" wants the argument filter/id`, ""},
		{host.Fault{Kind: host.FaultUnknown, Pointer: "/token", Near: "tokens"}, `argument "token=…": tool "tool" has no argument of that name`, `did you mean "tokens"?`},
		{host.Fault{Kind: host.FaultUnknown, Pointer: "/filter/a"}, `argument "filter:=…": tool "tool" knows nothing at /filter/a`, ""},
	} {
		err := args.Explain(nil, sent, fmt.Errorf("call: %w", &host.ArgumentError{Tool: "tool", Faults: []host.Fault{test.fault}}))
		hint := exit.HintOf(err)
		if err.Error() != test.want || exit.KindOf(t.Context(), err).Name != "usage" || test.hint != "" && hint != test.hint || hint == "" {
			t.Errorf("%+v: %v, hint %s; want %s, hint %s", test.fault, err, hint, test.want, test.hint)
		}
	}
	both := &host.ArgumentError{Tool: "tool", Faults: []host.Fault{{Want: "a"}, {Want: "b"}}, More: 3}
	if err := args.Explain(nil, sent, both); err.Error() != `tool "tool" wants a; it wants b; and 3 more` {
		t.Error(err)
	}
	missing := &host.ArgumentError{Tool: "tool", Faults: []host.Fault{{Kind: host.FaultMissing, Pointer: "/id"}}}
	if err := args.Explain(json.RawMessage(`{"properties":{"id":{},"count":{},"token":{},"on":{}}}`), sent, missing); err.Error() != `tool "tool" wants the argument id; it names no argument "filter"` {
		t.Error(err)
	}
	near := Arguments{values: []Value{{word: "mode=Upp", Key: "mode", Text: "Upp"}}}
	enum := &host.ArgumentError{Tool: "tool", Faults: []host.Fault{{Pointer: "/mode", Want: `"up" or "down"`}}}
	if err := near.Explain(json.RawMessage(`{"properties":{"mode":{"enum":["up","down"]}}}`), Object{}, enum); exit.HintOf(err) != `did you mean "up"?` {
		t.Errorf("%v: %s", err, exit.HintOf(err))
	}
	if other := errors.New("other"); args.Explain(nil, sent, other) != other {
		t.Error("an error about something else is changed")
	}
}

// Several faults are one list, in the order of the tool's arguments, and the hint is for them.
func TestExplainList(t *testing.T) {
	const schema = `{"required":["to","from"],"properties":{"from":{"type":"string"},"to":{"type":"string"},"n":{"type":"integer","maximum":0},
		"mode":{"enum":["up","down"]},"at":{"type":"array","items":{"type":"object","required":["y"],"properties":{"y":{"type":"boolean"},"x":{"type":"number"}}}}}}`
	missing := func(at string) host.Fault { return host.Fault{Kind: host.FaultMissing, Pointer: at} }
	deep := host.Fault{Pointer: "/at/0/x", Want: "a number", Got: "a string of 1 character"}
	n := host.Fault{Pointer: "/n", Want: "at most 0"}
	mode := host.Fault{Pointer: "/mode", Want: `"up" or "down"`, Got: "a string of 4 characters"}
	unknown := host.Fault{Kind: host.FaultUnknown, Pointer: "/x"}
	for _, test := range []struct {
		words, want, hint string
		faults            []host.Fault
	}{
		{"n=1", `tool "t" wants the arguments to and from`, "write to=… from=… [n=…] [mode=…] ['at=[…]']", []host.Fault{missing("/from"), missing("/to")}},
		{"a=1 b=2", `tool "t" wants the argument to; it names no arguments "a" and "b"`, "write to=… from=… [n=…] [mode=…] ['at=[…]']", []host.Fault{missing("/to")}},
		{"n=1 mode=downn", `tool "t" wants at most 0 for "n=1"; it wants "up" or "down" for "mode=…", not a string of 4 characters (did you mean "down"?)`, "for example n=0 mode=up", []host.Fault{mode, n}},
		{`at=[{"x":"a"}]`, `argument "at=…": tool "t" wants a number at /at/0/x, not a string of 1 character`, `for example 'at=[{"y":true,"x":1}]'`, []host.Fault{deep}},
		{`at:=[{"x":"a"}]`, `argument "at:=…": tool "t" wants a number at /at/0/x, not a string of 1 character`, `for example 'at=[{"y":true,"x":1}]'; --no-validate sends the arguments as they are`, []host.Fault{deep}},
		{`at=[{"x":"a"}] x=1`, `tool "t" wants a number at /at/0/x of "at=…", not a string of 1 character; it wants at/0/y in "at=…"; it has no argument "x=…"`, "write to=… from=… [n=…] [mode=…] ['at=[…]']", []host.Fault{unknown, deep, missing("/at/0/y")}},
		{`at=[{"z":1}]`, `argument "at=…": tool "t" knows nothing at /at/0/z`, `for example 'at=[{"y":true}]'`, []host.Fault{{Kind: host.FaultUnknown, Pointer: "/at/0/z"}}},
	} {
		args, err := Read(t.Context(), nil, "", strings.Fields(test.words))
		if err != nil {
			t.Fatal(err)
		}
		sent, err := args.Build("t", json.RawMessage(schema), false)
		if err != nil {
			t.Fatal(err)
		}
		err = args.Explain(json.RawMessage(schema), sent, &host.ArgumentError{Tool: "t", Faults: test.faults})
		if err.Error() != test.want || exit.HintOf(err) != test.hint {
			t.Errorf("%s: %v; %s\nwant %s; %s", test.words, err, exit.HintOf(err), test.want, test.hint)
		}
	}
}

// A text in place of a value is no example, and a value that may be null says how that is written.
func TestExplainWithoutExample(t *testing.T) {
	const schema = `{"properties":{"s":{"type":"string","pattern":"^[a-z]+$"},"nn":{"type":["integer","null"]},"on":{"type":["boolean","null"]}}}`
	for words, want := range map[string]string{
		"s=A": asTheyAre, "s=A nn=x": "for example nn=1; null is nn:=null",
		"nn=x": "for example nn=1; null is nn:=null", "nn=x on=y": "for example nn=1 on=true; null is nn:=null",
	} {
		args, err := Read(t.Context(), nil, "", strings.Fields(words))
		if err != nil {
			t.Fatal(err)
		}
		var faults []host.Fault
		for _, v := range args.values {
			faults = append(faults, host.Fault{Pointer: "/" + v.Key, Want: "another"})
		}
		err = args.Explain(json.RawMessage(schema), Object{}, &host.ArgumentError{Tool: "t", Faults: faults})
		if exit.HintOf(err) != want {
			t.Errorf("%s: %s, want %s", words, exit.HintOf(err), want)
		}
	}
}

// A number that was given as JSON where a text is wanted is shown as the text.
func TestExplainShowsTheText(t *testing.T) {
	const schema = `{"properties":{"message":{"type":"string"},"n":{"type":"integer"}}}`
	for word, want := range map[string]string{
		"message:=5": "for example message=5; " + asTheyAre, "message:=true": "for example message=true; " + asTheyAre,
		"message:={}": asTheyAre, "n:=true": "for example n=1; " + asTheyAre,
	} {
		args, err := Read(t.Context(), nil, "", []string{word})
		if err != nil {
			t.Fatal(err)
		}
		key, _, _ := strings.Cut(word, ":")
		err = args.Explain(json.RawMessage(schema), Object{}, &host.ArgumentError{Tool: "t", Faults: []host.Fault{{Pointer: "/" + key, Want: "another"}}})
		if exit.HintOf(err) != want {
			t.Errorf("%s: %s, want %s", word, exit.HintOf(err), want)
		}
	}
}

// Texts or numbers with commas between them are shown as the array that they stand for.
func TestExplainSplitsLists(t *testing.T) {
	const schema = `{"properties":{"tags":{"type":"array","items":{"type":"string"}},"n":{"type":"array","items":{"type":"integer"}}}}`
	for word, want := range map[string]string{
		"tags=a,b": `for example 'tags=["a","b"]'`, "tags=it's, b": `for example 'tags=["it'\''s","b"]'`, "tags=a": `for example 'tags=["a"]'`,
		"n=1,2": `for example 'n=[1,2]'`, "n=1,x": `for example 'n=[1]'`, "n=": `for example 'n=[1]'`, "tags=[a,b": `for example 'tags=["…"]'`,
		"tags=" + strings.Repeat("a", 41): `for example 'tags=["…"]'`, "tags:=5": `for example 'tags=["…"]'; --no-validate sends the arguments as they are`,
	} {
		args, err := Read(t.Context(), nil, "", []string{word})
		if err != nil {
			t.Fatal(err)
		}
		key, _, _ := strings.Cut(strings.ReplaceAll(word, ":", ""), "=")
		err = args.Explain(json.RawMessage(schema), Object{}, &host.ArgumentError{Tool: "t", Faults: []host.Fault{{Pointer: "/" + key, Want: "an array"}}})
		if exit.HintOf(err) != want {
			t.Errorf("%s: %s, want %s", word, exit.HintOf(err), want)
		}
	}
}

// JSON whose quotes a shell has taken, and that of JavaScript or Python, is shown with them.
func TestExplainGivesQuotesBack(t *testing.T) {
	const schema = `{"properties":{"o":{"type":"object"},"l":{"type":"array","items":{"type":"string"}},"n":{"type":"number"}}}`
	for word, want := range map[string]string{
		"o={deep:{n:1,b:true}}": `for example 'o={"deep":{"n":1,"b":true}}'`, "o={'a': \"it's\"}": `for example 'o={"a": "it'\''s"}'`,
		"l=[a,b-c]": `for example 'l=["a","b-c"]'`, "l={a:1}": `for example 'l=["…"]'`, "o={a b}": `for example 'o={}'`,
		"o={a:" + strings.Repeat("x", 120) + "}": `for example 'o={}'`, "n={a:1}": "for example n=1",
	} {
		args, err := Read(t.Context(), nil, "", []string{word})
		if err != nil {
			t.Fatal(err)
		}
		err = args.Explain(json.RawMessage(schema), Object{}, &host.ArgumentError{Tool: "t", Faults: []host.Fault{{Pointer: "/" + word[:1], Want: "something else"}}})
		if exit.HintOf(err) != want {
			t.Errorf("%s: %s, want %s", word, exit.HintOf(err), want)
		}
	}
}

// A file of bytes is no text, and the hint says how tools take it.
func TestFileOfBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("b c.png", []byte{0x89, 'P', 'N', 'G', 0xff}, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Parse(t.Context(), "data=@b c.png")
	const hint = `most tools take bytes as base64: data="$(base64 < 'b c.png' | tr -d '\n')"`
	if err == nil || !strings.Contains(err.Error(), "not UTF-8 text") || exit.HintOf(err) != hint {
		t.Errorf("%v; %s", err, exit.HintOf(err))
	}
	if _, err := Parse(t.Context(), "data=\xff"); err == nil || exit.HintOf(err) != "" {
		t.Errorf("no file: %v; %s", err, exit.HintOf(err))
	}
}
