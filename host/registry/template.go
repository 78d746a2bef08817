package registry

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Input is what a person has to give, or may give, before a server runs.
type Input struct {
	ID       string // the key of its answer in [Answers]
	Of       string // what it is: "the argument target_dir", "the variable API_KEY", "tenant (for the url)"
	Repeated bool   // may have several answers
	Flag     bool   // an argument without a value of its own: the answer "true" gives it
	Value
}

// Answers maps the ID of each input to its answers. They are texts of the configuration: ${NAME}
// is a variable and ${secret:NAME} a secret of the vault. An input without an answer has its
// default, if there is any.
type Answers map[string][]string

// part is a text, or the ID of the input whose answer stands in its place.
type part struct{ text, input string }

// template is a value, in parts: texts of the registry, and answers to inputs.
type template []part

// word is an argument, a variable or a header. Its texts are all there or all left out.
type word struct {
	name     string     // of a variable or a header; "" for an argument
	texts    []template // one of a variable; one or two of an argument
	required bool
	repeated string // the input whose answers it is repeated for
	flag     string // the input that says whether it is there
	ifSet    string // the variable that the argument passes on: without this variable, the argument is left out
}

// inputs collects the inputs of an option.
type inputs []Input

// add adds an input, or finds the same one, and returns its ID. Different inputs with the same
// ID get IDs that name their purpose.
func (list *inputs) add(in Input) string {
	for {
		i := slices.IndexFunc(*list, func(other Input) bool { return other.ID == in.ID })
		if i < 0 {
			*list = append(*list, in)
			return in.ID
		}
		if reflect.DeepEqual((*list)[i].Value, in.Value) {
			return in.ID
		}
		in.ID = strings.Trim(in.Of[strings.LastIndexByte(in.Of, ' ')+1:], ")-") + "." + in.ID
	}
}

var braces = lazyregexp.New(`\{[^{}]*\}`)

// template splits a value at its variables in braces. Other braces are text. A variable without
// a description of its own gets that of the value.
func (list *inputs) template(value, of, about string, variables map[string]Value) (t template) {
	at := 0
	for _, b := range braces.FindAllStringIndex(value, -1) {
		name := value[b[0]+1 : b[1]-1]
		v, known := variables[name]
		if !known {
			continue
		}
		t = append(t, part{text: value[at:b[0]]})
		if v.Value != "" {
			t = append(t, part{text: v.Value})
		} else {
			v.Description = cmp.Or(v.Description, about)
			t = append(t, part{input: list.add(Input{ID: name, Of: name + " (for " + of + ")", Value: v})})
		}
		at = b[1]
	}
	return append(t, part{text: value[at:]})
}

// variable reads a variable or a header; kind says which.
func (list *inputs) variable(v Variable, kind string) word {
	of := "the " + kind + " " + v.Name
	w := word{name: v.Name, required: v.IsRequired}
	if v.Value.Value != "" {
		w.texts = []template{list.template(v.Value.Value, of, v.Description, v.Variables)}
	} else {
		w.texts = []template{{{input: list.add(Input{ID: v.Name, Of: of, Value: v.Value})}}}
	}
	return w
}

// argument reads an argument. A named argument and its value become two words, as VS Code has it
// (processArguments in src/vs/platform/mcp/common/mcpManagementService.ts). If joined is true they
// become one, with an equals sign, so that no program takes the value for something else.
func (list *inputs) argument(a Argument, number int, joined bool) (w word, err error) {
	id := strings.TrimLeft(a.Name, "-")
	if a.Type == "positional" {
		if id = a.ValueHint; id == "" {
			id = fmt.Sprintf("argument%d", number)
		}
	}
	w.required = a.IsRequired
	of := "the argument " + id
	var value template
	switch {
	case a.Type != "positional" && a.Type != "named" || a.Type == "named" && a.Name == "":
		return w, fmt.Errorf("it has an argument of the unknown type %.40q", a.Type)
	case a.Value.Value != "":
		value = list.template(a.Value.Value, of, a.Description, a.Variables)
	case a.Type == "named" && a.Format == "boolean":
		w.flag = list.add(Input{ID: id, Of: of, Flag: true, Value: a.Variable.Value})
	case a.Type == "named" && !a.IsRequired && a.Default == "" && a.Placeholder == "" && a.ValueHint == "" && a.Format == "" && len(a.Choices) == 0:
		// a flag
	default:
		in := list.add(Input{ID: id, Of: of, Repeated: a.IsRepeated, Value: a.Variable.Value})
		value = template{{input: in}}
		if a.IsRepeated {
			w.repeated = in
		}
	}
	name := template{{text: a.Name}}
	switch {
	case a.Type == "positional":
		w.texts = []template{value}
	case value == nil:
		w.texts = []template{name}
	case joined || strings.HasSuffix(a.Name, "="):
		w.texts = []template{slices.Concat(template{{text: strings.TrimSuffix(a.Name, "=") + "="}}, value)}
	default:
		w.texts = []template{name, value}
	}
	return w, nil
}

// text returns the text of a word that is one argument without inputs, or "".
func (w word) text() (text string) {
	if len(w.texts) != 1 {
		return ""
	}
	for _, p := range w.texts[0] {
		if p.input != "" {
			return ""
		}
		text += p.text
	}
	return text
}

// escaped escapes a text of the registry for the configuration, so that a dollar sign in it
// begins no reference.
func escaped(text string) string { return strings.ReplaceAll(text, "$", "$$") }
