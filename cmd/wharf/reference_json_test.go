package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/daemon"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/status"
	"github.com/wharf-mcp/wharf/host/config/inventory"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/pluginstore"
	"github.com/wharf-mcp/wharf/host/plugintest"
	"github.com/wharf-mcp/wharf/host/replay"
)

// jsonOutput is a shape of what commands print as JSON.
type jsonOutput struct {
	title, about string
	commands     string // that print it
	as           string // "object", "array" or "lines" of objects, or several of these
	value        any    // an object
}

// jsonOutputs are all shapes. Scripts compare each with what is really printed: see [shapeOf].
var jsonOutputs = []jsonOutput{
	{"errors", "The last line of stderr, in `{\"error\": …}`.", "", "object", errorDetails{}},
	{"wharf servers", "An array of:", "servers", "array", inventory.Entry{}},
	{"wharf servers --status", "An array of the following; with `--watch` a line for each change.", "servers", "array lines", status.Info{}},
	{"wharf tools", "Without a server, an array of:", "tools", "array", serverTools{}},
	{"wharf resources", "", "resources", "object", resourceLists{}},
	{"wharf watch", "A line for each change:", "watch", "lines", mcp.Change{}},
	{"wharf watch --log", "A line for each message, with `\"kind\": \"log\"` and:", "watch", "lines", mcp.LogMessage{}},
	{"wharf ping", "", "ping", "object", pingResult{}},
	{"wharf serve --http, serve --unix", "An array of the following, once clients can come. `daemon run`, and `control --socket` with `--json`, print one, which has a `socket` alone.",
		"serve, daemon run, control", "array object", served{}},
	{"wharf search", "An array of:", "search", "array", listed{}},
	{"wharf add, remove, update", "One of the following; `update` prints an array, and so does `remove` for several names.", "add, remove, update", "object array", changed{}},
	{"wharf import", "An array of:", "import", "array", importItem{}},
	{"wharf import --list", "", "import", "object", importList{}},
	{"wharf auth status", "", "auth status", "object", inventory.SignIns{}},
	{"wharf acl check", "", "acl check", "object", access{}},
	{"wharf trust list", "An array of:", "trust list", "array", inventory.Decision{}},
	{"wharf trust show", "One of the following; for a file with several servers a line for each.", "trust show", "object lines", approvalJSON{}},
	{"wharf doctor", "An array of:", "doctor", "array", finding{}},
	{"wharf doctor SERVER", "An array of:", "doctor", "array", doctorStep{}},
	{"wharf plugin list", "An array of the following; `plugin add`, `grant`, `revoke` and `update` print one.", "plugin list, plugin add, plugin grant, plugin revoke, plugin update", "array object", pluginstore.Listed{}},
	{"wharf plugin extras", "An array of:", "plugin extras", "array", listedExtra{}},
	{"wharf plugin inspect", "", "plugin inspect", "object", description{}},
	{"wharf plugin verify", "An array of:", "plugin verify", "array", verification{}},
	{"wharf plugin new", "", "plugin new", "object", created{}},
	{"wharf plugin build", "", "plugin build", "object", built{}},
	{"wharf plugin test", "", "plugin test", "object", plugintest.Report{}},
	{"wharf plugin replay", "", "plugin replay", "object", replay.Report{}},
	{"wharf daemon status", "An array of:", "daemon status", "array", daemon.State{}},
	{"wharf version", "", "version", "object", versionInfo{}},
}

// otherOutputs are what commands print that have no shape of their own.
var otherOutputs = []struct{ commands, what string }{
	{"call, read, prompt, complete, request, task result", "the result, as the server wrote it"},
	{"tools SERVER", "an array of tools, as the server wrote them; `tools SERVER TOOL` one of them"},
	{"prompts", "an array of prompts, as the server wrote them"},
	{"task list", "an array of tasks, as the server wrote them"},
	{"task status", "a task, as the server wrote it; so does `call --detach`"},
	{"shell", "for each line what the command of that name prints"},
	{"audit", "the lines of the log, as they are"},
	{"trace show", "with `--json`: the lines of the file, as they are; piped, what a terminal shows"},
	{"bridge, serve, control", "messages of the protocol; with `--print-config` lines for a file of the client, and `control --schema` a JSON Schema"},
	{"generate go, generate sh, generate ts", "the program that they write, unless `--out` names a file"},
	{"completion bash, completion fish, completion powershell, completion zsh, daemon logs, help", "text"},
	{"login, logout, auth secret, edit, trust approve, trust deny, trust revoke, plugin remove, task cancel, daemon stop", "nothing: the exit code says how it ended"},
}

func (r *reference) json() {
	r.printf("## JSON\n\nPiped, or with `--json`, stdout is JSON: one value, on one line unless stdout is a terminal, or a value in each line where that is said. " +
		"Members are added, and never renamed or removed. Members with `?` may be absent. Some commands print no JSON of their own:\n\n")
	r.head("command", "stdout")
	known := map[string]bool{"completion": true}
	for _, o := range otherOutputs {
		r.row("`"+strings.ReplaceAll(o.commands, ", ", "`, `")+"`", o.what)
		for _, name := range strings.Split(o.commands, ", ") {
			known[name] = true
		}
	}
	r.printf("\n")
	for _, s := range jsonOutputs {
		r.printf("### %s\n\n", s.title)
		if s.about != "" {
			r.printf("%s\n\n", s.about)
		}
		r.shape(s.value)
		for _, name := range strings.Split(s.commands, ", ") {
			known[name] = true
		}
	}
	r.eachCommand(r.root, func(cmd *cobra.Command) {
		if name := strings.TrimPrefix(cmd.CommandPath(), "wharf "); !known[name] && !cmd.HasAvailableSubCommands() {
			r.t.Errorf("the reference does not say what %q prints as JSON", name)
		}
	})
}

// TestJSONIsCompared wants each shape of the reference to be compared with an output.
func TestJSONIsCompared(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for _, s := range jsonOutputs {
		if line := "\nshape '" + s.title + "'\n"; !bytes.Contains(all, []byte(line)) && !slices.Contains(comparedInGo, s.title) {
			t.Errorf("no script has the line %q", strings.TrimSpace(line))
		}
	}
}

// comparedInGo are the shapes that tests in Go compare, with [conforms].
var comparedInGo = []string{"wharf watch --log"}

// What differs from a shape is found.
func TestConforms(t *testing.T) {
	for text, want := range map[string]string{
		`{"server":"a","era":"legacy","protocol":"p","ms":1}`:       "",
		`{"server":"a","era":"legacy","protocol":"p"}`:              `has no member "ms"`,
		`{"server":"a","era":"legacy","protocol":"p","ms":"1"}`:     "ms: expected number, got 1",
		`{"server":"a","era":"legacy","protocol":"p","ms":1,"x":1}`: `the reference has no member "x"`,
		`{"server":null,"era":"legacy","protocol":"p","ms":1}`:      "server: expected text",
		`[{"server":"a","era":"legacy","protocol":"p","ms":1}]`:     `of the form "array", want "object"`,
		`{"server":"a","era":"legacy","protocol":"p","ms":1} {}`:    `of the form "lines"`,
		``: `of the form "lines"`,
	} {
		if err := conforms(text, "wharf ping"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// shapeOf is a command of scripts. It compares what was printed last, on stdout or as an error, with a
// shape of the reference: shape 'wharf servers'.
func shapeOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shape TITLE")
	}
	text := ts.ReadFile("stdout")
	if args[0] == "errors" {
		lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
		text = strings.TrimSuffix(strings.TrimPrefix(lines[len(lines)-1], `{"error":`), "}")
	}
	ts.Check(conforms(text, args[0]))
}

// conforms returns an error if a text that was printed has not the shape of that title.
func conforms(text, title string) error {
	at := slices.IndexFunc(jsonOutputs, func(o jsonOutput) bool { return o.title == title })
	if at < 0 {
		return fmt.Errorf("the reference has no shape %q", title)
	}
	shape := jsonOutputs[at]
	var values []any
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var value any
		err := d.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		values = append(values, value)
	}
	form := "object"
	if len(values) != 1 {
		form = "lines"
	} else if list, ok := values[0].([]any); ok {
		form, values = "array", list
	}
	if one := form == "object" && strings.Contains(shape.as, "lines"); !one && !strings.Contains(shape.as, form) {
		return fmt.Errorf("%s: it is of the form %q, want %q", title, form, shape.as)
	}
	if len(values) == 0 {
		return fmt.Errorf("%s: there is nothing to compare", title)
	}
	for _, value := range values {
		if err := fits(value, reflect.TypeOf(shape.value)); err != nil {
			return fmt.Errorf("%s: %w", title, err)
		}
	}
	return nil
}

// fits compares a decoded value with what the reference says of its type.
func fits(value any, of reflect.Type) error {
	word, inner := wordFor(of)
	kind := map[reflect.Kind]string{
		reflect.String: "text", reflect.Bool: "true or false", reflect.Float64: "number", reflect.Slice: "array", reflect.Map: "object",
	}[reflect.ValueOf(value).Kind()]
	switch {
	case word == "any", word == "time" && kind == "text":
		return nil
	case kind == "" || !strings.HasPrefix(word, kind):
		return fmt.Errorf("expected %s, got %v", word, value)
	case kind == "array":
		for _, each := range value.([]any) {
			if err := fits(each, of.Elem()); err != nil {
				return err
			}
		}
	case kind == "object" && inner != nil:
		return hasMembers(value.(map[string]any), inner)
	}
	return nil
}

// hasMembers compares the members of an object with those of a struct.
func hasMembers(object map[string]any, of reflect.Type) error {
	known := map[string]bool{"kind": true} // which the texts of the reference have
	for _, m := range membersOf(of) {
		known[m.name] = true
		value, there := object[m.name]
		switch err := fits(value, m.field.Type); {
		case !there && !m.optional:
			return fmt.Errorf("%v has no member %q", object, m.name)
		case there && err != nil:
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	for name := range object {
		if !known[name] {
			return fmt.Errorf("the reference has no member %q", name)
		}
	}
	return nil
}
