package args

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/nearest"
)

// Explain turns an error about the arguments of a call into one about the words that the person
// typed. It returns other errors as they are. sent is the object that was built by the schema.
func (args Arguments) Explain(schema json.RawMessage, sent Object, err error) error {
	var refused *host.ArgumentError
	if !errors.As(err, &refused) {
		return err
	}
	reader := ReadSchema(schema)
	args, _ = args.named(fmt.Sprintf("tool %q", refused.Tool), reader) // which has gone well, or nothing was sent
	return explanation{args, reader, sent, refused.Tool, refused.Faults, refused.More, false}.err()
}

// explanation is what is wrong with the arguments of a call, for the person who typed them.
type explanation struct {
	args   Arguments // each with its key
	schema *Schema
	sent   Object
	tool   string
	faults []host.Fault
	more   int  // how many others there are
	taken  bool // the server is sent them with --no-validate, and may take them
}

func (x explanation) err() error {
	x.faults = x.inOrder()
	text := x.list()
	if len(x.faults) == 1 && x.more == 0 && len(x.unnamed()) == 0 {
		text = x.sentence(x.faults[0])
	}
	hint := x.hint()
	switch anyway := "--no-validate sends it all the same"; {
	case x.taken && hint == "":
		hint = anyway
	case x.taken && strings.HasSuffix(hint, "?"):
		hint += " " + anyway
	case x.taken:
		hint += "; " + anyway
	}
	return exit.Usage(errors.New(text), "%s", cmp.Or(hint, asTheyAre))
}

const asTheyAre = "--no-validate sends the arguments as they are"

// inOrder returns the faults in the order of the tool's arguments.
func (x explanation) inOrder() []host.Fault {
	names := x.schema.Names()
	place := func(f host.Fault) int {
		at := -1
		if path := f.Path(); len(path) > 0 {
			at = slices.Index(names, path[0])
		}
		if at < 0 {
			return len(names)
		}
		return at
	}
	faults := slices.Clone(x.faults)
	slices.SortStableFunc(faults, func(a, b host.Fault) int { return cmp.Compare(place(a), place(b)) })
	return faults
}

// unnamed returns the typed keys that the schema does not name and that have no fault, if an
// argument is missing. A server that accepts any key says nothing of them.
func (x explanation) unnamed() (keys []string) {
	missing := slices.ContainsFunc(x.faults, func(f host.Fault) bool { return f.Kind == host.FaultMissing && f.Near == "" })
	for _, v := range x.args.values {
		said := slices.ContainsFunc(x.faults, func(f host.Fault) bool {
			return len(f.Path()) > 0 && f.Path()[0] == v.Key || f.Near == v.Key
		})
		if _, known := x.schema.properties[v.Key]; missing && !said && !known && len(x.schema.properties) > 0 {
			keys = append(keys, fmt.Sprintf("%q", plain.Clip(v.Key, 40)))
		}
	}
	return keys
}

// sentence describes a single fault.
func (x explanation) sentence(f host.Fault) string {
	subject, here := fmt.Sprintf("tool %q", x.tool), " here"
	if f.Kind == host.FaultMissing && len(f.Path()) == 1 {
		return subject + " wants the argument " + place(f)
	}
	if word := x.word(f); word != "" {
		subject = "argument " + word + ": " + subject
	}
	if len(f.Path()) > 1 {
		here = " at " + f.Place()
	}
	switch {
	case f.Kind == host.FaultMissing:
		return subject + " wants the argument " + place(f)
	case f.Kind == host.FaultUnknown && len(f.Path()) == 1:
		return subject + " has no argument of that name"
	case f.Kind == host.FaultUnknown:
		return subject + " knows nothing" + here
	case len(f.Path()) == 0:
		here = ""
	}
	return subject + " wants " + f.Want + here + not(f)
}

// list describes several faults: missing arguments first, unknown ones last.
func (x explanation) list() string {
	var missing, wrong, unknown []string
	for _, f := range x.faults {
		switch path := f.Path(); {
		case f.Kind == host.FaultMissing && len(path) == 1:
			missing = append(missing, place(f)+suggests("is it %q?", f.Near))
		case f.Kind == host.FaultMissing:
			wrong = append(wrong, "wants "+place(f)+" in "+x.word(f))
		case f.Kind == host.FaultUnknown && len(path) == 1:
			unknown = append(unknown, x.word(f)+suggests("did you mean %q?", f.Near))
		case f.Kind == host.FaultUnknown:
			wrong = append(wrong, "knows nothing at "+f.Place()+" of "+x.word(f))
		case len(path) == 0:
			wrong = append(wrong, "wants "+f.Want+not(f))
		case len(path) == 1:
			wrong = append(wrong, "wants "+f.Want+" for "+x.word(f)+not(f)+suggests("did you mean %q?", x.nearValue(f)))
		default:
			wrong = append(wrong, "wants "+f.Want+" at "+f.Place()+" of "+x.word(f)+not(f))
		}
	}
	var clauses []string
	if len(missing) > 0 {
		clauses = append(clauses, "wants the "+several("argument", missing))
	}
	clauses = append(clauses, wrong...)
	if len(unknown) > 0 {
		clauses = append(clauses, "has no "+several("argument", unknown))
	}
	if unnamed := x.unnamed(); len(unnamed) > 0 {
		clauses = append(clauses, "names no "+several("argument", unnamed))
	}
	text := fmt.Sprintf("tool %q %s", x.tool, strings.Join(clauses, "; it "))
	if x.more > 0 {
		text += fmt.Sprintf("; and %d more", x.more)
	}
	return text
}

// hint returns what to type in place of the faulty words, or "" if that is not clear.
func (x explanation) hint() string {
	if len(x.faults) == 1 && len(x.unnamed()) == 0 {
		f := x.faults[0]
		near := cmp.Or(f.Near, x.nearValue(f))
		switch path := f.Path(); {
		case near != "" && f.Kind == host.FaultMissing:
			return fmt.Sprintf("is %q meant to be %q?", near, plain.Clip(path[len(path)-1], 40))
		case near != "" && near == f.Near && len(path) == 1 && !Assignable(near):
			return fmt.Sprintf("did you mean %q? It is given as %s", near, x.schema.Example(x.schema.about(near)))
		case near != "":
			return fmt.Sprintf("did you mean %q?", near)
		}
	}
	var keys, examples []string
	var null string               // how the first that may be null is written so
	needed, asJSON := true, false // only what is needed is missing; a value that was given as JSON is probably meant so
	for _, f := range x.faults {
		path := f.Path()
		if len(path) == 0 {
			return cmp.Or(x.schema.alternatives(x.sent), x.schema.usage())
		}
		needed = needed && f.Kind == host.FaultMissing && len(path) == 1
		switch {
		case f.Kind == host.FaultUnknown && len(path) > 1:
			path = path[:len(path)-1]
		case f.Kind == host.FaultUnknown && f.Near != "":
			continue // its text has what was meant
		case f.Kind == host.FaultUnknown:
			if path = x.schema.member(path[0]); path == nil {
				return x.schema.usage()
			}
		}
		if _, known := x.schema.properties[path[0]]; !known {
			continue
		}
		example := cmp.Or(x.split(f), x.requoted(f), x.plainText(f), x.schema.exampleWith(path))
		if f.Kind != host.FaultMissing && len(path) == 1 {
			if example == plain.ShellWord(path[0]+"=…") {
				continue // it says nothing that the text does not
			}
			if word := plain.ShellWord(path[0] + ":=null"); slices.Contains(x.schema.Types(path[0]), "null") && word != example {
				null = cmp.Or(null, word)
			}
		}
		if at := slices.Index(keys, path[0]); at < 0 {
			keys, examples = append(keys, path[0]), append(examples, example)
		} else if len(example) > len(examples[at]) {
			examples[at] = example // it has more of the same argument
		}
		asJSON = asJSON || f.Kind != host.FaultMissing && x.json(path[0])
	}
	switch {
	case needed:
		return x.schema.usage()
	case len(examples) == 0:
		return ""
	}
	hint := "for example " + strings.Join(examples, " ")
	if null != "" {
		hint += "; null is " + null
	}
	if asJSON && !x.taken {
		hint += "; " + asTheyAre
	}
	return hint
}

// split returns the array that was probably meant by an argument which is texts or numbers with
// commas between them. It returns "" for any other argument.
func (x explanation) split(f host.Fault) string {
	path := f.Path()
	if len(path) != 1 || f.Kind == host.FaultMissing || f.Kind == host.FaultUnknown {
		return ""
	}
	p := x.schema.about(path[0])
	at := slices.IndexFunc(x.args.values, func(v Value) bool { return v.Key == path[0] })
	if at < 0 || x.args.values[at].json || !slices.Contains(p.Types, "array") || slices.Contains(p.Types, "string") {
		return ""
	}
	text := x.args.values[at].Text
	if text == "" || len(text) > longestSplit || strings.ContainsAny(text, "[]{}\"\n") {
		return ""
	}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if slices.Contains(p.Items, "string") {
			part = plain.Quote(part)
		}
		parts[i] = part
	}
	array := "[" + strings.Join(parts, ",") + "]"
	if !json.Valid([]byte(array)) {
		return ""
	}
	return plain.ShellWord(path[0] + "=" + array)
}

// requoted returns the object or array that was probably meant by an argument whose quotes a shell has taken. It
// returns "" for any other argument.
func (x explanation) requoted(f host.Fault) string {
	path := f.Path()
	if len(path) != 1 {
		return ""
	}
	at := slices.IndexFunc(x.args.values, func(v Value) bool { return v.Key == path[0] })
	if at < 0 || x.args.values[at].json {
		return ""
	}
	fixed, kind := requote(x.args.values[at].Text), "object"
	if strings.HasPrefix(fixed, "[") {
		kind = "array"
	}
	if fixed == "" || !slices.Contains(x.schema.Types(path[0]), kind) {
		return ""
	}
	return plain.ShellWord(path[0] + "=" + fixed)
}

// plainText returns the text that was probably meant by a number, true or false that was given as
// JSON. It returns "" for any other argument.
func (x explanation) plainText(f host.Fault) string {
	path := f.Path()
	if len(path) != 1 || f.Kind == host.FaultMissing || f.Kind == host.FaultUnknown || !slices.Contains(x.schema.Types(path[0]), "string") {
		return ""
	}
	for _, v := range x.args.values {
		kind := mcp.KindOf([]byte(v.Text))
		if v.Key == path[0] && v.json && len(v.Text) <= longestSplit && (kind == "number" || kind == "boolean") {
			return plain.ShellWord(v.Key + "=" + v.Text)
		}
	}
	return ""
}

const longestSplit = 40 // bytes, as of the word that the error quotes

// json reports whether an argument was given as JSON.
func (x explanation) json(key string) bool {
	at := slices.IndexFunc(x.args.values, func(v Value) bool { return v.Key == key })
	return at < 0 || x.args.values[at].json
}

// nearValue returns the value that was probably meant, if the fault is about one of a few texts.
func (x explanation) nearValue(f host.Fault) string {
	path := f.Path()
	if len(path) != 1 || f.Kind == host.FaultMissing || f.Kind == host.FaultUnknown {
		return ""
	}
	var values []string
	for _, raw := range x.schema.about(path[0]).Enum {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			values = append(values, text)
		}
	}
	for _, v := range x.args.values {
		if v.Key == path[0] && !v.json {
			return nearest.Name(v.Text, values, max(1, len(v.Text)/3))
		}
	}
	return ""
}

// word is the argument that a fault is about, as the person typed it. It is "" for a fault of all.
func (x explanation) word(f host.Fault) string {
	path := f.Path()
	if len(path) == 0 {
		return ""
	}
	for _, v := range x.args.values {
		if v.Key == path[0] {
			return fmt.Sprintf("%q", v.label(x.sent[v.Key]))
		}
	}
	return fmt.Sprintf("%q in %s", plain.Clip(path[0], 40), x.args.from)
}

// label returns the argument for an error, without its value if that may be a secret. sent is the
// value that is sent, or nil if the schema refuses the text. A value that is refused, or is a
// number, true, false or null, is no secret.
func (v Value) label(sent []byte) string {
	kind := mcp.KindOf(sent)
	if sent == nil || kind == "number" || kind == "boolean" || kind == "null" {
		return plain.Clip(v.word, 40)
	}
	equals := "="
	if v.json {
		equals = ":="
	}
	return plain.Clip(v.Key, 40) + equals + "…"
}

// place returns the place of a fault as people write it.
func place(f host.Fault) string { return strings.TrimPrefix(f.Place(), "/") }

// not describes the value that a fault found in place of the expected one.
func not(f host.Fault) string {
	if f.Got == "" {
		return ""
	}
	return ", not " + f.Got
}

// suggests returns a question in parentheses, or "" if there is no name. question is a format with
// one verb, for the name.
func suggests(question, name string) string {
	if name == "" {
		return ""
	}
	return " (" + fmt.Sprintf(question, name) + ")"
}

// several names things of one kind: "argument a", "arguments a, b and c".
func several(kind string, names []string) string {
	last := len(names) - 1
	if last == 0 {
		return kind + " " + names[0]
	}
	return kind + "s " + strings.Join(names[:last], ", ") + " and " + names[last]
}
