package args

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

func TestExplain(t *testing.T) {
	args := Arguments{base: Object{"base": json.RawMessage("1")}, from: "--args", values: []Value{
		{word: "count=11", Key: "count", Text: "11"}, {word: "token=hunter2", Key: "token", Text: "hunter2"},
		{word: `filter:={"a":"hunter2"}`, Key: "filter", Text: `{"a":"hunter2"}`, json: true}, {word: "on:=true", Key: "on", Text: "true", json: true},
	}}
	sent, err := args.Build("tool", json.RawMessage(`{"properties":{"count":{"type":"integer"}}}`))
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
	if err := args.Explain(nil, sent, both); err.Error() != `tool "tool" wants a; tool "tool" wants b; and 3 more` {
		t.Error(err)
	}
	missing := &host.ArgumentError{Tool: "tool", Faults: []host.Fault{{Kind: host.FaultMissing, Pointer: "/id"}}}
	if err := args.Explain(json.RawMessage(`{"properties":{"id":{},"count":{},"token":{},"on":{}}}`), sent, missing); err.Error() != `tool "tool" wants the argument id; it names none "filter"` {
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
