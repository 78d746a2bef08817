package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
)

// Input is a question in a file of VS Code, ${input:id}, which the person is asked once.
type Input struct {
	ID          string
	Description string
	Password    bool     // the answer is not shown while it is typed
	Default     string   // the answer if nothing is typed; "" is none
	Options     []string // the answers to choose from; nil allows any

	// Secret names the secret of the vault in which the answer is kept. It is bound to
	// the file, so that no other file asks for it.
	Secret string
}

// inputs reads the questions of a file.
func (f *File) inputs(doc *document) (inputs []Input) {
	list, _ := doc.root["inputs"].([]any)
	if nested, ok := doc.at([]string{"mcp", "inputs"}).([]any); ok {
		list = append(slices.Clone(list), nested...)
	}
	for _, item := range list {
		table, ok := item.(map[string]any)
		id, _ := table["id"].(string)
		if !ok || id == "" {
			continue
		}
		e := &entry{doc: doc, path: []string{"inputs"}, subject: "input " + id, values: table}
		in := Input{ID: id, Description: e.text("description"), Password: e.flag("password"), Default: e.text("default")}
		switch kind := e.text("type"); kind {
		case "pickString":
			if in.Options = e.options(); in.Default != "" && in.Options != nil && !slices.Contains(in.Options, in.Default) {
				e.fail("default", "is none of the options; it does not count")
				in.Default = ""
			}
		case "command":
			e.fail("type", "an answer from a command of VS Code is not known here; it is asked for")
		}
		in.Secret = inputSecret(f.Path, id)
		for _, w := range e.wrong {
			f.Notes = append(f.Notes, w.Error())
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// options reads the choices of a question: texts, or tables with a value.
func (e *entry) options() (options []string) {
	list, _ := e.values["options"].([]any)
	for _, item := range list {
		if table, ok := item.(map[string]any); ok {
			item = table["value"]
		}
		if text, ok := item.(string); ok {
			options = append(options, text)
		}
	}
	return options
}

// inputSecret returns the name of the secret that holds the answer to a question of a file.
func inputSecret(path, id string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	file := sha256.Sum256([]byte(path))
	name := "input/" + hex.EncodeToString(file[:6]) + "/"
	if !secretName.MatchString(name + id) {
		hash := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(hash[:6])
	}
	return name + id
}

// takeInputs gives an entry the questions that occur in its values. A question that the file
// does not describe is asked by its id, and its answer is not shown.
func (s *Server) takeInputs(known []Input) {
	x := &expansion{server: s, replace: func(_, value string) (string, []error) {
		for _, id := range inputsIn(value) {
			if slices.ContainsFunc(s.Inputs, func(in Input) bool { return in.ID == id }) {
				continue
			}
			if at := slices.IndexFunc(known, func(in Input) bool { return in.ID == id }); at >= 0 {
				s.Inputs = append(s.Inputs, known[at])
			} else {
				s.Inputs = append(s.Inputs, Input{ID: id, Password: true, Secret: inputSecret(s.file, id)})
			}
		}
		return value, nil
	}}
	x.all()
}

// inputsIn returns the ids of the questions in a value.
func inputsIn(value string) (ids []string) {
	pieces, _ := split(value, vars{lookup: unset})
	for _, p := range pieces {
		if p.asks != "" {
			ids = append(ids, p.asks)
		}
	}
	return ids
}
