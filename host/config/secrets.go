package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// HideSecrets returns the arguments of a command with mark in the place of each part that looks like
// a secret: values of flags, variables and headers whose names sound secret, passwords in urls, and
// tokens of well-known services.
func HideSecrets(args []string, mark string) []string {
	out := slices.Clone(args)
	for i, parts := range secret.Arguments(args) {
		out[i] = secret.Replace(args[i], parts, func(secret.Part, string) string { return mark })
	}
	return out
}

// HideSecret returns a url or an argument as [HideSecrets] does.
func HideSecret(text, mark string) string {
	return secret.Replace(text, secret.Text(text), func(secret.Part, string) string { return mark })
}

// PlainSecrets returns the places of an entry where something that looks like a secret stands in the
// clear: env.API_TOKEN, args.api-key.
func (s Server) PlainSecrets() []string {
	places, _ := s.plainSecrets()
	slices.Sort(places)
	return slices.Compact(places)
}

// HidePlainSecrets returns lines of the entry's file with mark in place of each secret whose place PlainSecrets returns.
func (s Server) HidePlainSecrets(lines, mark string) string {
	_, texts := s.plainSecrets()
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be a part of another
	for _, text := range texts {
		escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
		for _, written := range []string{text, escaped} {
			if len(text) < leastHidden { // it may be part of any word
				lines = strings.NewReplacer(`"`+written+`"`, `"`+mark+`"`, `'`+written+`'`, `'`+mark+`'`).Replace(lines)
			} else {
				lines = strings.ReplaceAll(lines, written, mark)
			}
		}
	}
	return lines
}

// leastHidden is the length in bytes from which a secret is hidden wherever it stands. A shorter one is hidden where it is
// a whole value in quotes.
const leastHidden = 8

// plainSecrets returns the places and the texts of what looks like a secret in the clear.
func (s Server) plainSecrets() (places, texts []string) {
	parts := s.secretParts()
	x := &expansion{server: &s, every: true, replace: func(field, value string) (string, []error) {
		for _, p := range parts[field] {
			place := field // of a table
			if list, _, isList := strings.Cut(field, "["); isList || field == "url" {
				place = list + "." + p.Name
			} else if text := value[p.Begin:p.End]; strings.Contains(text, "${") && !plainDefault.MatchString(text) {
				continue
			}
			places, texts = append(places, place), append(texts, value[p.Begin:p.End])
		}
		return value, nil
	}}
	x.all()
	return places, texts
}

// plainDefault matches a variable with a default.
var plainDefault = lazyregexp.New(`\$\{[^{}]*:-[^{}$]+\}`)

// secretParts returns the parts of an entry's values that look like secrets, by the field. Of a variable,
// a header or a setting whose name sounds like a secret that is the whole value.
func (s Server) secretParts() map[string][]secret.Part {
	fields := map[string][]secret.Part{"url": secret.Text(s.URL)}
	list := func(name string, args []string) {
		for i, parts := range secret.Arguments(args) {
			fields[fmt.Sprintf("%s[%d]", name, i)] = parts
		}
	}
	list("args", s.Args)
	list("auth.command", s.Auth.Command)
	text := func(table, name, value string, whole bool) {
		parts := secret.Text(value)
		if whole && value != "" {
			parts = []secret.Part{{Begin: 0, End: len(value), Name: name}}
		}
		fields[table+"."+name] = parts
	}
	for name, value := range s.Env {
		text("env", name, value, secret.Named(name, value))
	}
	for name, value := range s.Headers {
		text("headers", name, value, secret.Named(name, value))
	}
	for name, value := range s.Settings {
		text("settings", name, value, secret.Key(name))
	}
	for name, value := range s.Auth.Env {
		text("auth.env", name, value, secret.Named(name, value))
	}
	for name, setting := range s.Auth.Settings {
		if value, ok := setting.(string); ok {
			text("auth", name, value, secret.Key(name))
		}
	}
	return fields
}

// Adopt returns an entry of another client as an entry of the user's own file, in which
// ${secret:NAME} stands for each secret, or { secret = "NAME" } where it is a setting of auth. Adopt adds to
// secrets the values of variables, headers and settings whose names sound like secrets, and the parts of other
// values that look like secrets; the vault must keep them under these names. It returns the questions whose answers the vault must
// have. answers maps each [Input.Secret] to its new name, so that several servers of a file share
// one answer. Adopt adds to it, so pass the same map for each of them. What is for a command is left out of an
// entry without one.
func (s Server) Adopt(secrets, answers map[string]string) (out Server, questions []Input) {
	inputs := slices.Clone(s.Inputs)
	for i := range inputs {
		before := inputs[i].Secret
		if answers[before] == "" {
			answers[before] = s.Name + "/" + secretWord(inputs[i].ID)
		}
		inputs[i].Secret = answers[before]
	}
	s = s.settledTexts()
	var kept []string                         // names in secrets that are of this entry
	keep := func(name, value string) string { // a reference, or the value if others give it
		varies := false
		pieces, errs := split(value, vars{lookup: func(string) (string, bool) { varies = true; return "", true }})
		if value == "" || varies || len(errs) > 0 || slices.ContainsFunc(pieces, piece.isSecret) {
			return value
		}
		text, first := joined(pieces), s.Name+"/"+secretWord(name)
		name = first
		for n := 2; secrets[name] != "" && secrets[name] != text; n++ {
			name = fmt.Sprintf("%s-%d", first, n)
		}
		if secrets[name] == "" {
			kept = append(kept, name)
		}
		secrets[name] = text
		return "${secret:" + name + "}"
	}
	adopt := func(of string) {
		parts := s.secretParts()
		x := &expansion{server: &s, every: true, replace: func(field, value string) (string, []error) {
			if !strings.HasPrefix(field, of) {
				return value, nil
			}
			value = secret.Replace(value, parts[field], func(p secret.Part, text string) string { return keep(p.Name, text) })
			for _, in := range inputs {
				value = strings.ReplaceAll(value, "${input:"+in.ID+"}", "${secret:"+in.Secret+"}")
			}
			return value, nil
		}}
		x.all()
	}
	if s.ownEnv {
		adopt("env.") // before other values take them
		s.fillOwn()
	}
	if s.Command == "" { // where these do nothing, and Wharf's own file may not have them
		s.Args, s.Env, s.EnvFile, s.Dir = nil, nil, "", ""
	}
	adopt("")
	s.ownTerms()
	for key, setting := range s.Auth.Settings { // x has cloned the map
		if value, ok := setting.(string); ok && onlySecret.MatchString(value) {
			s.Auth.Settings[key] = Reference{Secret: onlySecret.FindStringSubmatch(value)[1]}
		}
	}
	s.Inputs = nil
	for _, name := range kept {
		if !s.MeansSecret(name) { // it was in what is left out
			delete(secrets, name)
		}
	}
	return s, slices.DeleteFunc(inputs, func(in Input) bool { return !s.MeansSecret(in.Secret) })
}

// settledTexts returns an entry of a client to which $NAME is a text where NAME is not set, with these texts in the
// place of such variables in what looks like a secret: a password with a dollar sign in it means no variable.
func (s Server) settledTexts() Server {
	if !s.unsetTexts {
		return s
	}
	parts := s.secretParts()
	x := &expansion{server: &s, replace: func(field, value string) (string, []error) {
		return secret.Replace(value, parts[field], func(_ secret.Part, text string) string {
			return unbracedName.ReplaceAllStringFunc(text, func(written string) string {
				m := unbracedName.FindStringSubmatch(written)
				_, set := os.LookupEnv(m[1])
				_, own := s.Env[m[1]]
				if set || own && s.ownEnv || m[1] != m[2] {
					return written
				}
				return "$" + m[1]
			})
		}), nil
	}}
	x.all()
	return s
}

// unbracedName matches the variable for a name without braces in a file of Gemini CLI.
var unbracedName = lazyregexp.New(`\$\{([A-Za-z_][A-Za-z0-9_]*):-\$([A-Za-z_][A-Za-z0-9_]*)\}`)

// fillOwn puts the variables that an entry of another client sets in the places where its other values name
// them: in a file of Wharf's own, such a name is that of a variable of the environment.
func (s *Server) fillOwn() {
	vars := s.vars(unset)
	x := &expansion{server: s, replace: func(field, value string) (string, []error) {
		of := vars.in(field)
		return meantName.ReplaceAllStringFunc(value, func(written string) string {
			if written == "$$" {
				return written
			}
			switch text, found, err := of.ofEntry(meantName.FindStringSubmatch(written)[1]); {
			case err != nil:
				return literal(written) // and never a variable of the environment
			case found:
				return text
			}
			return written
		}), nil
	}}
	x.all()
	s.ownEnv = false
}

// ownTerms rewrites what only the file of another client says of variables in the terms of Wharf's own file.
func (s *Server) ownTerms() {
	x := &expansion{server: s, replace: func(field, value string) (string, []error) {
		if name := variableIn(value); s.isListed(field) && value == variableNamed(name) && variable.MatchString(name) {
			return "${?" + name + "}", nil
		}
		if s.unsetTexts {
			value = meantName.ReplaceAllStringFunc(value, selfDefault)
		}
		return value, nil
	}}
	x.all()
	s.named, s.noDefaults, s.unsetTexts, s.keys = nil, false, false, keyNames{}
}

// selfDefault returns ${NAME} with what is written as the default, and ${…} that names no variable as a text.
func selfDefault(written string) string {
	inner := meantName.FindStringSubmatch(written)[1]
	name, _, given := strings.Cut(strings.TrimPrefix(inner, "env:"), ":-")
	switch {
	case inner == "" || given || ofWharf.MatchString(inner) || strings.HasPrefix(inner, "input:"):
		return written
	case !variable.MatchString(name):
		return literal(written)
	}
	return "${" + name + ":-" + written + "}"
}

// meantName matches ${…} in a value, and an escaped dollar sign.
var meantName = lazyregexp.New(`\$\$|\$\{([^}]*)\}`)

// onlySecret matches a value that is a secret of the vault and nothing else.
var onlySecret = lazyregexp.New(`^\$\{secret:([^{}]+)\}$`)

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

// References returns where an entry finds its secrets and files, in its values and in its auth table.
func (s Server) References() []Reference {
	found := s.Secrets()
	for _, key := range slices.Sorted(maps.Keys(s.Auth.Settings)) {
		if r, ok := s.Auth.Settings[key].(Reference); ok {
			found = append(found, r)
		}
	}
	return found
}

// MeansSecret reports whether an entry takes the secret of that name.
func (s Server) MeansSecret(name string) bool {
	return slices.ContainsFunc(s.References(), func(r Reference) bool { return r.Secret == name })
}
