package registry

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// manifest is the manifest.json of a bundle, which says how to run it. See
// https://github.com/modelcontextprotocol/mcpb, versions up to 0.4.
type manifest struct {
	Server struct {
		Type       string    `json:"type"`
		EntryPoint string    `json:"entry_point"`
		Run        bundleRun `json:"mcp_config"`
	} `json:"server"`
	UserConfig map[string]bundleInput `json:"user_config"`
}

// bundleRun is the command of a bundle. Platforms has the differences on some systems.
type bundleRun struct {
	Command   string               `json:"command"`
	Args      []string             `json:"args"`
	Env       map[string]string    `json:"env"`
	Platforms map[string]bundleRun `json:"platform_overrides"`
}

// bundleInput is an input that the user of a bundle gives.
type bundleInput struct {
	Type        string `json:"type"` // "string", "number", "boolean", "directory", "file"
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Sensitive   bool   `json:"sensitive"`
	Multiple    bool   `json:"multiple"`
	Default     any    `json:"default"`
}

// compile makes the command of a bundle that is unpacked in a folder.
func (m *manifest) compile(o *Option, dir string) error {
	run := m.Server.Run
	if run.Command == "" && m.Server.Type == "uv" && filepath.IsLocal(filepath.FromSlash(m.Server.EntryPoint)) {
		run = bundleRun{Command: "uv", Args: []string{"run", "--directory", "${__dirname}", m.Server.EntryPoint}}
	}
	platform := runtime.GOOS
	if platform == "windows" {
		platform = "win32"
	}
	if here, there := run.Platforms[platform]; there {
		run.Command = cmp.Or(here.Command, run.Command)
		if here.Args != nil {
			run.Args = here.Args
		}
		env := maps.Clone(here.Env)
		for name, value := range run.Env {
			if _, given := env[name]; !given {
				if env == nil {
					env = make(map[string]string)
				}
				env[name] = value
			}
		}
		run.Env = env
	}
	if len(run.Args) > maxParts || len(run.Env) > maxParts || len(m.UserConfig) > maxParts {
		return errTooMuch
	}
	b := bundled{o, m, places(dir)}
	o.inputs, o.words, o.env = nil, nil, nil
	for _, text := range run.Args {
		w := word{texts: []template{b.template(text)}}
		if t := w.texts[0]; len(t) == 1 && t[0].input != "" && m.UserConfig[t[0].input].Multiple {
			w.repeated = t[0].input
		}
		o.words = append(o.words, w)
	}
	for _, name := range slices.Sorted(maps.Keys(run.Env)) {
		o.env = append(o.env, word{name: name, texts: []template{b.template(run.Env[name])}})
	}
	if err := o.checkParts(); err != nil {
		return err
	}
	for _, w := range slices.Concat(o.words, o.env) {
		if err := checkPlace(w.text(), dir); err != nil {
			return err
		}
	}
	program := word{texts: []template{b.template(run.Command)}}.text()
	if strings.ContainsRune(program, '/') {
		program = filepath.Clean(filepath.FromSlash(program))
	}
	if err := checkProgram(program, dir); err != nil {
		return err
	}
	o.program = program
	return nil
}

// places maps the names that a manifest may use in ${NAME} to the folders and separators that they
// mean. dir is the folder of the bundle.
func places(dir string) map[string]string {
	known := map[string]string{"__dirname": dir, "/": string(filepath.Separator), "pathSeparator": string(filepath.Separator)}
	if home, err := os.UserHomeDir(); err == nil {
		known["HOME"] = home
		for _, name := range []string{"Desktop", "Documents", "Downloads"} {
			known[strings.ToUpper(name)] = filepath.Join(home, name)
		}
	}
	return known
}

// bundled makes templates of the texts in a manifest.
type bundled struct {
	*Option
	manifest *manifest
	places   map[string]string
}

var dollars = lazyregexp.New(`\$\{[^{}]*\}`)

// template splits a text at its references: to a known place, such as the folder of the
// bundle, or to an input of the user. Any other ${NAME} is plain text.
func (b bundled) template(value string) (t template) {
	at := 0
	add := func(p part) {
		if p.text != "" || p.input != "" {
			t = append(t, p)
		}
	}
	for _, found := range dollars.FindAllStringIndex(value, -1) {
		name := value[found[0]+2 : found[1]-1]
		place, known := b.places[name]
		key, asked := strings.CutPrefix(name, "user_config.")
		in, declared := b.manifest.UserConfig[key]
		switch {
		case known:
			add(part{text: value[at:found[0]] + place})
		case asked && declared:
			add(part{text: value[at:found[0]]})
			add(part{input: b.inputs.add(b.input(key, in))})
		default:
			continue
		}
		at = found[1]
	}
	add(part{text: value[at:]})
	if t == nil {
		t = template{{}}
	}
	return t
}

func (b bundled) input(key string, in bundleInput) Input {
	v := Value{Description: cmp.Or(in.Description, in.Title), IsRequired: in.Required, IsSecret: in.Sensitive}
	switch in.Type {
	case "file", "directory":
		v.Format = "filepath"
	case "number", "boolean":
		v.Format = in.Type
	}
	only, isList := in.Default.([]any)
	if isList && len(only) == 1 {
		in.Default = only[0]
	}
	switch d := in.Default.(type) {
	case string:
		for name, place := range b.places {
			d = strings.ReplaceAll(d, "${"+name+"}", place)
		}
		v.Default = d
	case bool, float64:
		v.Default = fmt.Sprint(d)
	}
	return Input{ID: key, Of: "the setting " + key, Repeated: in.Multiple, Value: v}
}
