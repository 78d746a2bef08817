package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

// blame makes an error about the arguments of a call one about what the person
// typed. Other errors stay as they are. sent is what the arguments came to.
func (args arguments) blame(sent object, err error) error {
	var refused *host.ArgumentError
	if !errors.As(err, &refused) {
		return err
	}
	var texts []string
	hint := "--no-validate sends the arguments as they are"
	for _, f := range refused.Faults {
		texts = append(texts, args.name(f, sent)+says(f, refused.Tool))
		if f.Near != "" {
			hint = meant(f)
		}
	}
	if refused.More > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", refused.More))
	}
	return exit.Usage(errors.New(strings.Join(texts, "; ")), "%s", hint)
}

// meant asks whether a name was a slip.
func meant(f host.Fault) string {
	if path := f.Path(); f.Kind == host.FaultMissing {
		return fmt.Sprintf("is %q meant to be %q?", f.Near, plain.Clip(path[len(path)-1], 40))
	}
	return fmt.Sprintf("did you mean %q?", f.Near)
}

// name says which argument a fault is about, in the words of the person.
func (args arguments) name(f host.Fault, sent object) string {
	path := f.Path()
	if len(path) == 0 || f.Kind == host.FaultMissing && len(path) == 1 {
		return ""
	}
	for _, v := range args.values {
		if v.key == path[0] {
			return fmt.Sprintf("argument %q: ", v.label(sent[v.key]))
		}
	}
	return fmt.Sprintf("argument %q in %s: ", plain.Clip(path[0], 40), args.from)
}

// label is the word without what may be a secret: text is one until the schema
// says that it is a number, true, false or null.
func (v value) label(sent []byte) string {
	kind := kindOf(string(sent))
	if kind == "number" || kind == "boolean" || kind == "null" {
		return plain.Clip(v.word, 40)
	}
	equals := "="
	if v.json {
		equals = ":="
	}
	return plain.Clip(v.key, 40) + equals + "…"
}

// says says what a tool makes of an argument, or of a part of it.
func says(f host.Fault, tool string) string {
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
