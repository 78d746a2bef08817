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
			built, err := args.Build("tool", schema, true)
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

// A blank behind the colon of one word is none of the value.
func TestColonAndBlank(t *testing.T) {
	args, err := Read(t.Context(), nil, "", []string{"text: a: b "})
	if err != nil {
		t.Fatal(err)
	}
	if object, err := args.Build("t", json.RawMessage(`{"properties":{"text":{"type":"string"}}}`), true); err != nil || string(object["text"]) != `"a: b "` {
		t.Errorf("%s, %v", object["text"], err)
	}
	if _, err := Read(t.Context(), nil, "@a b.json", nil); err == nil || exit.HintOf(err) != "give a file on stdin: --args - < 'a b.json'" {
		t.Errorf("%v: %s", err, exit.HintOf(err))
	}
	for word, want := range map[string]string{"{message:hello}": "JSON has double quotes, and single quotes keep them from the shell: '{\"message\":\"hello\"}'", "{'message': 'x'}": "JSON has double quotes, and", `{"a"}`: "expected a JSON object"} {
		if _, err := Read(t.Context(), nil, "", []string{word}); err == nil || !strings.HasPrefix(exit.HintOf(err), want) {
			t.Errorf("%s: %v, %s", word, err, exit.HintOf(err))
		}
	}
}

// Words without a key are values of the arguments in their order, the required ones first.
func TestBareWords(t *testing.T) {
	const (
		two = `{"properties":{"b":{"type":"integer"},"a":{"type":"string"},"c":{}},"required":["b","a"]}`
		one = `{"properties":{"text":{"type":"string"}}}`
		// what is not required has the order of the server
		city = `{"properties":{"z":{"type":"integer"},"city":{"type":"string"},"unit":{"type":"string","enum":["c","f"]},"k":{}},"required":["city"]}`
	)
	for _, test := range []struct{ schema, words, want string }{
		{two, "2 x", `{"a":"x","b":2}`},
		{two, "b=2 x", `{"a":"x","b":2}`},
		{`{"properties":{"n":{"type":"number"},"m":{"type":"number"}},"required":["n"]}`, "n=.5 m=-.5", `{"m":-0.5,"n":0.5}`},
		{`{"properties":{"n":{"type":"number"}}}`, "n=.", `argument "n=.": tool "t" wants a number here; for example n=1`},
		{two, "x b=2", `{"a":"x","b":2}`},
		{two, "a=x 2", `{"a":"x","b":2}`},
		{two, "a=x y", `argument "y": expected key=value; quote a text of several words: 'a=x y'; or write b=… a=… [c=…]`},
		{two, "b=2 a=x y c=1 z", `argument "y": expected key=value; quote a text of several words: 'a=x y'`},
		{two, "b=2 a=x y z", `argument "y": expected key=value; quote a text of several words: 'a=x y z'; or write b=… a=… [c=…]`},
		{two, "b=2 a:x y", `argument "y": expected key=value; quote a text of several words: 'a=x y'; or write b=… a=… [c=…]`},
		{two, `b=2 a:="x" y`, `{"a":"x","b":2,"c":"y"}`},
		{one, "text=hello world", `argument "world": expected key=value; quote a text of several words: 'text=hello world'`},
		{city, "city=New York", `argument "York": expected key=value; quote a text of several words: 'city=New York'; or write city=… [z=…] [unit=…] [k=…]`},
		{city, "city=Bern 3 f", `{"city":"Bern","unit":"f","z":3}`},
		{city, "New York", `argument "York": expected key=value; quote a text of several words: 'city=New York'; or write city=… [z=…] [unit=…] [k=…]`},
		{city, "z=3 city=New York", `argument "York": expected key=value; quote a text of several words: 'city=New York'; or write city=… [z=…] [unit=…] [k=…]`},
		{`{"properties":{"e":{"enum":["red","dark blue"]},"s":{"type":"string"}}}`, "e=dark blue", `argument "blue": expected key=value; quote a text of several words: 'e=dark blue'; or write [e=…] [s=…]`},
		{`{"properties":{"e":{"enum":["red","dark blue"]},"s":{"type":"string"}}}`, "e=red x", `{"e":"red","s":"x"}`},
		{two, "a:x b:2 c:d:e", `{"a":"x","b":2,"c":"d:e"}`},
		{two, "2 http://x", `{"a":"http://x","b":2}`},
		{two, `2 {"a":"x"}`, `{"a":"x","b":2}`},
		{two, `(2,"x","y")`, `{"a":"x","b":2,"c":"y"}`},
		{two, `(2,c:1) x`, `{"a":"x","b":2,"c":1}`},
		{two, `("b")`, `{"b":"b"}`},
		{one, "hello", `{"text":"hello"}`},
		{city, "Bern 3 f", `{"city":"Bern","unit":"f","z":3}`},
		{city, "Bern z=3 f x", `{"city":"Bern","k":"x","unit":"f","z":3}`},
		{two, "2 x y", `argument "y": expected key=value; quote a text of several words: 'a=x y'; or write b=… a=… [c=…]`},
		{two, "x 2", `argument "b=x": tool "t" wants an integer here; for example b=1`},
		{`{"properties":{"tags":{"type":"array","items":{"type":"string"}}}}`, "a,b", `argument "tags=a,b": tool "t" wants an array here; for example 'tags=["a","b"]'`},
		{two, "a:1 a:2", `argument "a=2": a is given already, as "a=1"; if it takes a list, write 'a=["1","2"]'`},
		{two, "a:1 a=2", `argument "a=1": a is given already, as "a=2"; if it takes a list, write 'a=["2","1"]'`},
		{one, "text hello", `argument "text": expected key=value; write text=hello`},
		{two, "2 a", `argument "a": expected key=value; write b=… a=… [c=…]`},
		{city, "Bern 3 f x y", `argument "y": expected key=value; quote a text of several words: 'k=x y'`},
		{one, "txt:hello", `argument "txt:…": tool "t" has no argument of that name; did you mean "text"? txt=… --no-validate sends it all the same`},
		{two, "b:2 d:x", `argument "d:…": tool "t" has no argument of that name; a text with a colon is given by name: a=d:x`},
		{two, "a:x d:2", `argument "d:…": tool "t" has no argument of that name; write b=… a=… [c=…]`},
		{one, "note:/a", `argument "note:…": tool "t" has no argument of that name; a text with a colon is given by name: text=note:/a`},
		{one, "C:/x", `{"text":"C:/x"}`},
		{one, `C:\x`, `{"text":"C:\\x"}`},
		{one, "12:30", `{"text":"12:30"}`},
		{one, "Note:", `{"text":"Note:"}`},
		{one, `("note:x")`, `{"text":"note:x"}`},
		{`{}`, "a:b", `argument "a:b": tool "t" names no arguments; if it takes one all the same, write key=value`},
		{one, "text://hello", `{"text":"//hello"}`},
		{one, "test://hello", `{"text":"test://hello"}`},
		{one, "hello new world", `argument "new": expected key=value; quote a text of several words: 'text=hello new world'`},
		{`{}`, "hello", `argument "hello": tool "t" names no arguments; if it takes one all the same, write key=value`},
		{`{"properties":{}}`, "hello", `argument "hello": tool "t" takes no arguments; `},
		{`{"properties":{}}`, "(1)", `argument "1": tool "t" takes no arguments; `},
		{`{"properties":{"a":{"type":"integer"}}}`, "1 2", `argument "2": tool "t" takes one argument, which has a value already; write [a=…]`},
		{`{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`, "(1,2,3)", `argument "3": tool "t" takes 2 arguments, and each has a value already; write [a=…] [b=…]`},
		{`{"type":"object"}`, "1", `argument "1": tool "t" takes no arguments; if it takes one all the same, write key=value`},
		{`{"type":"object","additionalProperties":true}`, "1", `argument "1": tool "t" names no arguments; if it takes one all the same, write key=value`},
		{two, "a: x b:2", `argument "a:": its value must come right after the colon; write a:VALUE; a= is an empty text`},
		{one, "text:", `argument "text:": its value must come right after the colon; write text:VALUE; text= is an empty text`},
	} {
		words := strings.Fields(test.words)
		call := Call{}
		if words[0][0] == '(' {
			call, _ = ReadCall("t" + words[0])
			words = words[1:]
		}
		args, err := call.Read(t.Context(), nil, "", words)
		if err != nil || !args.NeedSchema() {
			t.Fatalf("%s: %v", test.words, err)
		}
		object, err := args.Build("t", json.RawMessage(test.schema), true)
		got, _ := json.Marshal(object)
		if err != nil {
			got = []byte(err.Error() + "; " + exit.HintOf(err))
		}
		if string(got) != test.want {
			t.Errorf("%s: %s, want %s", test.words, got, test.want)
		}
	}
}

// A word with an equals sign is a value if no argument can have such a name, unless the schema has it.
func TestEqualsInValues(t *testing.T) {
	const (
		fetch = `{"properties":{"url":{"type":"string"},"max":{"type":"integer"}},"required":["url"]}`
		odd   = `{"properties":{"text":{"type":"string"},"a/b":{"type":"string"},"at":{"type":"object"}}}`
		open  = `{"properties":{},"additionalProperties":true}`
	)
	for _, test := range []struct{ schema, words, want string }{
		{fetch, "https://x/?q=1 5", `{"max":5,"url":"https://x/?q=1"}`},
		{fetch, "max=5 https://x/?q=@1", `{"max":5,"url":"https://x/?q=@1"}`},
		{fetch, "https://x/?q:=1", `{"url":"https://x/?q:=1"}`},
		{fetch, "url:https://x/?q=1", `{"url":"https://x/?q=1"}`},
		{fetch, "url=https://x/?q=1", `{"url":"https://x/?q=1"}`},
		{fetch, "https://x/?q=1 https://y/?q=2", `argument "https://y/?q=2": expected key=value; quote a text of several words: 'url=https://x/?q=1 https://y/?q=2'; or write url=… [max=…]`},
		{fetch, "https://x/?q=1 mx=2", `argument "mx=…": tool "t" has no argument of that name; did you mean "max"? --no-validate sends it all the same`},
		{fetch, "u 1 k8s.io/n=2", `argument "k8s.io/n=2": tool "t" takes 2 arguments, and each has a value already; an argument "k8s.io/n" is given as an object: '{"k8s.io/n":"2"}'`},
		{fetch, "u zzz=1", `{"url":"u","zzz":"1"}`},
		{odd, "/tmp/a=b", `{"text":"/tmp/a=b"}`},
		{odd, `C:\a=b`, `{"text":"C:\\a=b"}`},
		{odd, `dir\a=b`, `{"text":"dir\\a=b"}`},
		{odd, "50%=x", `{"text":"50%=x"}`},
		{odd, "a/b=c x", `{"a/b":"c","text":"x"}`},
		{odd, "x a/b=c a/b=d", `argument "a/b=d": a/b is given already, as "a/b=c"; if it takes a list, write 'a/b=["c","d"]'`},
		{odd, "a/b:={", `argument "a/b:={": not JSON: unexpected end of JSON input at byte 1; for plain text write a/b=…`},
		{odd, "text=x a/b:=1", `{"a/b":1,"text":"x"}`},
		{odd, "text=x at.y/z=5", `argument "at.y/z=…": tool "t" has no argument of that name; for example 'at={}'; --no-validate sends it all the same`},
		{odd, "note:a=b", `argument "note:…": tool "t" has no argument of that name; a text with a colon is given by name: text=note:a=b`},
		{fetch, "YWJjZA== 3", `{"max":3,"url":"YWJjZA=="}`},
		{fetch, "YWJjZGU= 3", `{"max":3,"url":"YWJjZGU="}`},
		{fetch, "3 url=YWJjZA==", `{"max":3,"url":"YWJjZA=="}`},
		{fetch, "url=", `{"url":""}`},
		{fetch, "max= 3 u", `argument "max=": its value must come right after the =; write max=3`},
		{fetch, "urls= u", `argument "urls=": its value must come right after the =; write urls=u`},
		{fetch, "mx== u", `argument "mx==": its value must come right after the =; write mx==u`},
		{fetch, "u 3 YWJjZA==", `argument "YWJjZA==": tool "t" takes 2 arguments, and each has a value already; an argument "YWJjZA" is given as an object: '{"YWJjZA":"="}'`},
		{fetch, "u foobar=", `{"foobar":"","url":"u"}`},
		{open, "foo=", `{"foo":""}`},
		{fetch, "mailto:a@b?subject=x", `{"url":"mailto:a@b?subject=x"}`},
		{fetch, "data:text/plain;base64,AA== 3", `{"max":3,"url":"data:text/plain;base64,AA=="}`},
		{fetch, "data:,x", `{"url":"data:,x"}`},
		{fetch, "data:x", `argument "data:…": tool "t" has no argument of that name; a text with a colon is given by name: url=data:x`},
		{fetch, "urn:isbn:0", `{"url":"urn:isbn:0"}`},
		{`{"properties":{"data":{"type":"string"}}}`, "data:,x", `{"data":",x"}`},
		{open, "k8s.io/n=2", `argument "k8s.io/n=2": tool "t" takes no arguments; an argument "k8s.io/n" is given as an object: '{"k8s.io/n":"2"}'`},
		{`{"type":"object"}`, "https://x/?q=1", `argument "https://x/?q=1": tool "t" takes no arguments; if it takes one all the same, write key=value`},
		{``, "https://x/?q=1", `argument "https://x/?q=1": tool "t" names no arguments; if it takes one all the same, write key=value`},
	} {
		args, err := Read(t.Context(), nil, "", strings.Fields(test.words))
		var object Object
		if err == nil {
			object, err = args.Build("t", json.RawMessage(test.schema), true)
		}
		got, _ := json.Marshal(object)
		if err != nil {
			got = []byte(err.Error() + "; " + exit.HintOf(err))
		}
		if string(got) != test.want {
			t.Errorf("%s: %s, want %s", test.words, got, test.want)
		}
	}
	for word, want := range map[string]string{"WHERE id = 1": `"WHERE id = 1"`, "text = x": ""} {
		args, err := Read(t.Context(), nil, "", []string{word})
		if err != nil {
			t.Fatal(err)
		}
		object, err := args.Build("t", json.RawMessage(odd), true)
		if string(object["text"]) != want || (want == "") != (err != nil) {
			t.Errorf("%s: %s, %v", word, object["text"], err)
		}
	}
	args, _ := Read(t.Context(), nil, "", []string{"a/b=c"})
	if _, err := args.Params("m"); err == nil || exit.HintOf(err) != `an argument "a/b" is given as an object: '{"a/b":"c"}'` {
		t.Errorf("params: %v, %s", err, exit.HintOf(err))
	}
}

// A value that blanks have split from its key is no argument of its own.
func TestApart(t *testing.T) {
	for words, want := range map[string]string{
		"message = hello":    `argument "message=": its value must come right after the =; write message=hello`,
		"a=1 message =":      `argument "message=": its value must come right after the =; write message=…`,
		"message =hello":     `argument "message=": its value must come right after the =; write message=hello`,
		"message= hello":     `argument "message=": its value must come right after the =; write message=hello`,
		"url= http://x/?a=b": `argument "url=": its value must come right after the =; write 'url=http://x/?a=b'`,
		"url= http://x":      `argument "url=": its value must come right after the =; write url=http://x`,
		":=x":                `argument ":=x": expected key=value; write key=value, key:=JSON, key=@FILE, or a whole JSON object; - reads one from stdin`,
		"n:= [1]":            `argument "n:=": not JSON: it is empty; for plain text write n=…`,
		"n := [1]":           `argument "n:=": its value must come right after the =; write 'n:=[1]'`,
		"message= other=b":   "",
		"message= other:b":   "",
		`message= {"a":1}`:   "",
		"n:=1 x":             "",
	} {
		args, err := Read(t.Context(), nil, "", strings.Fields(words))
		if err == nil {
			_, err = args.Build("t", json.RawMessage(`{"properties":{"message":{},"url":{},"n":{},"other":{}}}`), true)
		}
		got := ""
		if err != nil {
			got = err.Error() + "; " + exit.HintOf(err)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
}

// A name that is nearly that of an argument is an error, which names what else is wrong.
func TestSlips(t *testing.T) {
	const (
		open    = `{"properties":{"q":{"type":"string"},"limit":{"type":"integer"},"at":{"type":"object","properties":{"x":{"type":"number","minimum":2}}}},"required":["q"]}`
		closed  = `{"properties":{"limit":{}},"additionalProperties":false}`
		partial = `{"properties":{"limit":{}},"anyOf":[{"properties":{"limits":{}}}]}`
		anyway  = "--no-validate sends it all the same"
	)
	for _, test := range []struct{ schema, words, want string }{
		{open, "q=x lmit=5", `argument "lmit=…": tool "t" has no argument of that name; did you mean "limit"? ` + anyway},
		{open, `(q:"x",limt:3)`, `argument "limt" in the parentheses: tool "t" has no argument of that name; did you mean "limit"? ` + anyway},
		{open, "lmit=5", `tool "t" wants the argument q; it has no argument "lmit=…" (did you mean "limit"?); for example q=…; ` + anyway},
		{open, "q=x limit=a at.x=5", `tool "t" wants an integer for "limit=a"; it has no argument "at.x=…"; for example limit=1 'at={"x":2}'; ` + anyway},
		{open, "q=x at.x=5 at.y=6", `tool "t" has no arguments "at.x=…" and "at.y=…"; for example 'at={"x":2}'; ` + anyway},
		{open, "q=x at.y.x=5", `argument "at.y.x=…": tool "t" has no argument of that name; for example 'at={"x":2}'; ` + anyway},
		{open, "limit=a at=b", `tool "t" wants the argument q; it wants an integer for "limit=a"; it wants an object for "at=b"; for example q=… limit=1 'at={}'`},
		{open, "q=x limit=5 lmit=5 zzz=5 q.x=5", `{"limit":5,"lmit":"5","q":"x","q.x":"5","zzz":"5"}`},
		{closed, "lmit=5", `argument "lmit=…": tool "t" has no argument of that name; did you mean "limit"?`},
		{partial, "limits=5", `{"limits":"5"}`},
	} {
		words, call := strings.Fields(test.words), Call{}
		if words[0][0] == '(' {
			call, _ = ReadCall("t" + words[0])
			words = words[1:]
		}
		args, err := call.Read(t.Context(), nil, "", words)
		if err != nil {
			t.Fatalf("%s: %v", test.words, err)
		}
		object, err := args.Build("t", json.RawMessage(test.schema), true)
		got, _ := json.Marshal(object)
		if err != nil {
			got = []byte(err.Error() + "; " + exit.HintOf(err))
		}
		if string(got) != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.words, got, test.want)
		}
		if _, err := args.Build("t", json.RawMessage(test.schema), false); err != nil && !strings.Contains(test.want, "wants an integer") {
			t.Errorf("%s: %v without a check", test.words, err)
		}
	}
}

// An argument that a schema does not name is told of where nothing says that there are others.
func TestUnnamed(t *testing.T) {
	for _, test := range []struct{ schema, object, want string }{
		{`{"properties":{"q":{},"limit":{}}}`, `{"lmit":1,"q":2}`, `tool "t" names no argument "lmit" (did you mean "limit"?); it is sent all the same`},
		{`{"properties":{"q":{},"limit":{}}}`, `{"Limit":1,"limit":2,"zz":3}`, `tool "t" names no argument "Limit", "zz"; it is sent all the same`},
		{`{"properties":{"limit":{}},"additionalProperties":true}`, `{"zz":1,"limt":2}`, `tool "t" names no argument "limt" (did you mean "limit"?); it is sent all the same`},
		{`{"properties":{"limit":{}},"allOf":[{}]}`, `{"zz":1}`, ""},
		{`{"properties":{"limit":{}},"additionalProperties":false}`, `{"limt":1}`, ""},
		{`{"properties":{}}`, `{"zz":1}`, ""},
		{`{}`, `{"zz":1}`, ""},
		{``, `{"zz":1}`, ""},
	} {
		object, err := parseObject(test.object)
		if err != nil {
			t.Fatal(err)
		}
		if got := Unnamed("t", json.RawMessage(test.schema), object); got != test.want {
			t.Errorf("%s with %s: %q, want %q", test.schema, test.object, got, test.want)
		}
	}
}

// The arguments of a prompt are texts, in the order of its list.
func TestTexts(t *testing.T) {
	schema := TextSchema([]string{"tone", "name", "place"}, []string{"name"})
	for _, test := range []struct{ words, want string }{
		{"Ada", `{"name":"Ada"}`},
		{"Ada tone:warm", `{"name":"Ada","tone":"warm"}`},
		{"name=Ada warm", `argument "warm": expected key=value; quote a text of several words: 'name=Ada warm'; or write name=… [tone=…] [place=…]`},
		{"Ada tone:very warm", `argument "warm": expected key=value; quote a text of several words: 'tone=very warm'; or write name=… [tone=…] [place=…]`},
		{"tone=warm Ada", `{"name":"Ada","tone":"warm"}`},
		{"Ada warm", `argument "warm": expected key=value; quote a text of several words: 'name=Ada warm'; or write name=… [tone=…] [place=…]`},
		{"tone=warm", `prompt "p": the argument "name" is missing; write name=… [tone=…] [place=…]`},
		{"nme=Ada", `argument "nme=…": prompt "p" has no argument of that name; did you mean "name"?`},
		{"nam:Ada", `argument "nam:…": prompt "p" has no argument of that name; did you mean "name"?`},
		{"https://a/?b=c", `{"name":"https://a/?b=c"}`},
		{"Ada tone=x y/z=c", `argument "y/z=c": expected key=value; quote a text of several words: 'tone=x y/z=c'; or write name=… [tone=…] [place=…]`},
		{`{"name":"Ada","k=v":"w"} tone=warm`, `{"k=v":"w","name":"Ada","tone":"warm"}`},
		{`{"name":1}`, `argument "{\"name\":1}": "name" can only be a string; write it in double quotes`},
		{`{"name":null}`, `argument "{\"name\":null}": "name" can only be a string; write it in double quotes`},
		{`{"tone":"warm"}`, `prompt "p": the argument "name" is missing; write name=… [tone=…] [place=…]`},
		{"name:=1", `argument "name:=1": it can only be a string; write name=value`},
	} {
		args, err := Read(t.Context(), nil, "", strings.Fields(test.words))
		if err != nil {
			t.Fatal(err)
		}
		texts, err := args.Texts(`prompt "p"`, schema)
		got, _ := json.Marshal(texts)
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
	if _, err := args.Texts("", nil); err == nil || exit.HintOf(err) != TextForm {
		t.Errorf("a word without a key in place of a text: %v", err)
	}
	if none := TextSchema(nil, nil); !none.takesNone() {
		t.Error("a prompt without arguments takes some")
	}
}
