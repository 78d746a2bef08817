package args

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

func TestArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		flag  string
		words []string
		want  string
	}{
		{"none", "", nil, `{}`},
		{"text", "", []string{"a=x"}, `{"a":"x"}`},
		{"empty text", "", []string{"a="}, `{"a":""}`},
		{"text with equals", "", []string{"a=b=c"}, `{"a":"b=c"}`},
		{"text that looks like markup", "", []string{"a=<b>&c"}, `{"a":"<b>&c"}`},
		{"text with a quote", "", []string{`a="`}, `{"a":"\""}`},
		{"colon in the text", "", []string{"url=http://x:=1"}, `{"url":"http://x:=1"}`},
		{"colon in the key", "", []string{"a:b=c"}, `{"a:b":"c"}`},
		{"integer by schema", "", []string{"count=5"}, `{"count":5}`},
		{"JSON against the schema", "", []string{`count:="5"`}, `{"count":"5"}`},
		{"JSON keeps its digits", "", []string{"a:=10000000000000000000001"}, `{"a":10000000000000000000001}`},
		{"JSON object", "", []string{`a:={"b": [1]}`}, `{"a":{"b":[1]}}`},
		{"file", "", []string{"a=@" + file}, `{"a":"from a file"}`},
		{"flag", `{"a": 1}`, nil, `{"a":1}`},
		{"word wins over flag", `{"a": 1, "b": 2}`, []string{"a=x"}, `{"a":"x","b":2}`},
		{"object word", "", []string{`{"a": 1}`, "b=y"}, `{"a":1,"b":"y"}`},
		{"stdin", "-", nil, `{"in":true}`},
		{"stdin word", "", []string{"-"}, `{"in":true}`},
	}
	schema := json.RawMessage(`{"properties":{"count":{"type":"integer"}}}`)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args, err := Read(t.Context(), strings.NewReader(`{"in": true}`), tt.flag, tt.words)
			if err != nil {
				t.Fatal(err)
			}
			built, err := args.Build("tool", schema)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			encoder := json.NewEncoder(&got)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(built); err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(got.String()) != tt.want {
				t.Errorf("got %s, want %s", got.String(), tt.want)
			}
		})
	}
}

func FuzzParseValue(f *testing.F) {
	for _, word := range []string{"a=b", "a:=1", ":=", "=", "a=@", "a:={\"b\":[]}", "a=\xff", "\u202e=1", "a"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.Contains(word, "=@") {
			t.Skip("reads files")
		}
		v, err := Parse(t.Context(), word)
		if err != nil {
			return
		}
		if v.Key == "" || !utf8.ValidString(v.Key) {
			t.Errorf("key %q of %q", v.Key, word)
		}
		if v.json && !json.Valid([]byte(v.Text)) {
			t.Errorf("%q is not JSON", v.Text)
		}
		if rest := strings.TrimPrefix(strings.TrimPrefix(word, v.Key), ":"); rest != "="+v.Text {
			t.Errorf("%q became %q and %q", word, v.Key, v.Text)
		}
	})
}

func FuzzParseObject(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":1,"a":2}`, ` {"a" : {"a":1}} `, `{"a":1}x`, `[]`, `"`, `{"\ud800":1}`, "{\"\xff\":1}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		object, err := parseObject(text)
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q was taken: %v", text, err)
		}
		if len(object) != len(want) {
			t.Errorf("%q has %d members, got %d", text, len(want), len(object))
		}
		for key, member := range object {
			if string(member) != string(want[key]) {
				t.Errorf("%q: member %q is %s, want %s", text, key, member, want[key])
			}
		}
	})
}

// Words without a key are values of the arguments that the tool requires, in the order in
// which it requires them; where it has one argument, of that.
func TestBareWords(t *testing.T) {
	const (
		two = `{"properties":{"b":{"type":"integer"},"a":{"type":"string"},"c":{}},"required":["b","a"]}`
		one = `{"properties":{"text":{"type":"string"}}}`
	)
	for _, test := range []struct{ schema, words, want string }{
		{two, "2 x", `{"a":"x","b":2}`},
		{two, "b=2 x", `{"a":"x","b":2}`},
		{two, "x b=2", `{"a":"x","b":2}`},
		{two, "a:x b:2 c:d:e", `{"a":"x","b":2,"c":"d:e"}`},
		{two, "2 http://x", `{"a":"http://x","b":2}`},
		{two, `2 {"a":"x"}`, `{"a":"x","b":2}`},
		{one, "hello", `{"text":"hello"}`},
		{two, "2 x y", `argument "y": expected key=value; write b=… a=… [c=…]`},
		{two, "x 2", `argument "b=x": tool "t" wants an integer here; b:=JSON passes any value as it is`},
		{two, "a:1 a:2", `argument "a=2": a is given already, as "a=1"; `},
		{two, "a:1 a=2", `argument "a=1": a is given already, as "a=2"; `},
		{two, "2 a", `argument "a": expected key=value; write b=… a=… [c=…]`},
		{one, "txt:hello", `argument "txt:…": tool "t" has no argument of that name; did you mean "text"?`},
		{one, "text://hello", `{"text":"//hello"}`},
		{one, "test://hello", `{"text":"test://hello"}`},
		{one, "hello world", `argument "world": expected key=value; write [text=…]`},
		{`{}`, "hello", `argument "hello": expected key=value; ` + formHint},
	} {
		args, err := Read(t.Context(), nil, "", strings.Fields(test.words))
		if err != nil || !args.NeedSchema() {
			t.Fatalf("%s: %v", test.words, err)
		}
		object, err := args.Build("t", json.RawMessage(test.schema))
		got, _ := json.Marshal(object)
		if err != nil {
			got = []byte(err.Error() + "; " + exit.HintOf(err))
		}
		if string(got) != test.want {
			t.Errorf("%s: %s, want %s", test.words, got, test.want)
		}
	}
	args, err := Read(t.Context(), nil, "", []string{"hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := args.Texts(); err == nil || exit.HintOf(err) != formHint {
		t.Errorf("a word without a key in place of a text: %v", err)
	}
}
