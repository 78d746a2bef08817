package config

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/wharf-mcp/wharf/host/internal/secret"
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
			in.Options = e.options()
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

// SecretFlag reports whether the name of a flag or a variable sounds like a secret, so that its
// value should not be shown.
func SecretFlag(name string) bool { return secret.Flag(name) }

// Adopt returns an entry of another client as an entry of the user's own file, in which
// ${secret:NAME} stands for each secret. Adopt adds to secrets the values of variables and
// headers whose names sound like secrets; the vault must keep them under these names. It returns
// the questions whose answers the vault must have. answers maps each [Input.Secret] to its new
// name, so that several servers of a file share one answer. Adopt adds to it, so pass the same
// map for each of them.
func (s Server) Adopt(secrets, answers map[string]string) (out Server, questions []Input) {
	inputs := slices.Clone(s.Inputs)
	for i := range inputs {
		before := inputs[i].Secret
		if answers[before] == "" {
			answers[before] = s.Name + "/" + secretWord(inputs[i].ID)
		}
		inputs[i].Secret = answers[before]
	}
	x := &expansion{server: &s, replace: func(field, value string) (string, []error) {
		kind, name, _ := strings.Cut(field, ".")
		private := kind == "env" && secret.Flag(name) || kind == "headers" && (secret.Flag(name) || strings.EqualFold(name, "Authorization"))
		varies := false
		pieces, errs := split(value, vars{lookup: func(string) (string, bool) { varies = true; return "", true }})
		if private && value != "" && !varies && len(errs) == 0 && !slices.ContainsFunc(pieces, piece.isSecret) {
			name := s.Name + "/" + secretWord(name)
			secrets[name] = joined(pieces)
			return "${secret:" + name + "}", nil
		}
		for _, in := range inputs {
			value = strings.ReplaceAll(value, "${input:"+in.ID+"}", "${secret:"+in.Secret+"}")
		}
		return value, nil
	}}
	x.every = true
	x.all()
	s.Inputs = nil
	return s, inputs
}

// secretWord turns a word into a part of a secret's name.
func secretWord(word string) string {
	word = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, word)
	return word[:min(len(word), 60)]
}
