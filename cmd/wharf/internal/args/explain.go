package args

import (
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

// Explain turns an error about the arguments of a call into one about what the person
// typed. Other errors stay as they are. sent is the object that was built by the schema.
func (args Arguments) Explain(schema json.RawMessage, sent Object, err error) error {
	var refused *host.ArgumentError
	if !errors.As(err, &refused) {
		return err
	}
	var texts []string
	reader := ReadSchema(schema)
	args, _ = args.named(fmt.Sprintf("tool %q", refused.Tool), reader) // which has gone well, or nothing was sent
	hint := "--no-validate sends the arguments as they are"
	if usage := reader.usage(); usage != "" {
		hint = usage + "; " + hint
	}
	for _, f := range refused.Faults {
		texts = append(texts, args.subject(f, sent)+complaint(f, refused.Tool))
		if path := f.Path(); f.Near != "" && f.Kind == host.FaultMissing { // a name was mistyped
			hint = fmt.Sprintf("is %q meant to be %q?", f.Near, plain.Clip(path[len(path)-1], 40))
		} else if f.Near != "" {
			hint = fmt.Sprintf("did you mean %q?", f.Near)
		} else if near := args.nearValue(f, reader); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	}
	for _, v := range args.values { // of which a server that takes any key says nothing
		missing := slices.ContainsFunc(refused.Faults, func(f host.Fault) bool { return f.Kind == host.FaultMissing && f.Near == "" })
		said := slices.ContainsFunc(refused.Faults, func(f host.Fault) bool { return len(f.Path()) > 0 && f.Path()[0] == v.Key })
		if _, known := reader.properties[v.Key]; missing && !said && !known && len(reader.properties) > 0 {
			texts = append(texts, fmt.Sprintf("it names none %q", plain.Clip(v.Key, 40)))
		}
	}
	if refused.More > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", refused.More))
	}
	return exit.Usage(errors.New(strings.Join(texts, "; ")), "%s", hint)
}

// nearValue returns the value that was probably meant, where a fault is about one of a few texts.
func (args Arguments) nearValue(f host.Fault, schema *Schema) string {
	path := f.Path()
	if len(path) != 1 || f.Kind == host.FaultMissing || f.Kind == host.FaultUnknown {
		return ""
	}
	var values []string
	for _, raw := range schema.about(path[0]).Enum {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			values = append(values, text)
		}
	}
	for _, v := range args.values {
		if v.Key == path[0] && !v.json {
			return nearest.Name(v.Text, values, max(1, len(v.Text)/3))
		}
	}
	return ""
}

// subject says which argument a fault is about, as the person typed it.
func (args Arguments) subject(f host.Fault, sent Object) string {
	path := f.Path()
	if len(path) == 0 || f.Kind == host.FaultMissing && len(path) == 1 {
		return ""
	}
	for _, v := range args.values {
		if v.Key == path[0] {
			return fmt.Sprintf("argument %q: ", v.label(sent[v.Key]))
		}
	}
	return fmt.Sprintf("argument %q in %s: ", plain.Clip(path[0], 40), args.from)
}

// label is the word without what may be a secret: text may be one unless the schema
// says that it is a number, true, false or null.
func (v Value) label(sent []byte) string {
	kind := mcp.KindOf(sent)
	if kind == "number" || kind == "boolean" || kind == "null" {
		return plain.Clip(v.word, 40)
	}
	equals := "="
	if v.json {
		equals = ":="
	}
	return plain.Clip(v.Key, 40) + equals + "…"
}

// complaint says what is wrong with an argument, or with a part of it.
func complaint(f host.Fault, tool string) string {
	subject, here := fmt.Sprintf("tool %q", tool), " here"
	if len(f.Path()) > 1 {
		here = " at " + f.Place()
	}
	switch {
	case f.Kind == host.FaultMissing:
		return fmt.Sprintf("%s wants the argument %s", subject, strings.TrimPrefix(f.Place(), "/"))
	case f.Kind == host.FaultUnknown && len(f.Path()) == 1:
		return subject + " has no argument of that name"
	case f.Kind == host.FaultUnknown:
		return subject + " knows nothing" + here
	case len(f.Path()) == 0:
		here = ""
	}
	if f.Got != "" {
		here += ", not " + f.Got
	}
	return fmt.Sprintf("%s wants %s%s", subject, f.Want, here)
}
