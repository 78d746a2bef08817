package plugintest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/wharf-mcp/wharf/abi/step"
)

// SignIn describes the world around an auth provider: the settings of the server entry, the
// answers of the origins that the provider calls, and the actions of a person. README.md describes
// it. The kit makes up the fields that are empty.
type SignIn struct {
	Settings  json.RawMessage   `json:"settings"`  // an object
	Server    string            `json:"server"`    // the url of the server
	Challenge []string          `json:"challenge"` // the WWW-Authenticate fields of a 401
	Answers   []Answer          `json:"answers"`   // what fits first; 404 where nothing does
	Redirect  map[string]string `json:"redirect"`  // what the browser brings back
	Typed     string            `json:"typed"`     // at a prompt
	Run       *step.RunResult   `json:"run"`       // how the command ends; ${count} is how often it was run
}

// An Answer is a server's answer to an exchange.
type Answer struct {
	To      string            `json:"to"`     // a regular expression for METHOD URL, and a line feed and the body
	Status  int               `json:"status"` // 0 = 200
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"` // with ${name} for what a group has found, and ${count} of this answer

	to *regexp.Regexp
}

// serverURL is the url of the kit's server, unless a profile says otherwise.
const serverURL = "https://server.example/mcp"

// compile checks the sign-in of a profile, and compiles its expressions.
func (s *SignIn) compile() (err error) {
	if s == nil {
		return nil
	}
	var object map[string]json.RawMessage
	if len(s.Settings) > 0 && json.Unmarshal(s.Settings, &object) != nil {
		return wrong("signIn.settings", "expected an object")
	}
	var texts []namedText
	for i := range s.Answers {
		a := &s.Answers[i]
		if a.to, err = regexp.Compile(`(?s)\A(?:` + a.To + `)\z`); err != nil {
			return wrong(fmt.Sprintf("signIn.answers[%d].to", i), "%w", err)
		}
		texts = append(texts, namedText{fmt.Sprintf("signIn.answers[%d].body", i), a.Body, append(groups(a.to), "count")})
	}
	if s.Run != nil {
		texts = append(texts, namedText{"signIn.run.stdout", s.Run.Stdout, []string{"count"}})
	}
	return checkNames(texts...)
}

// withDefaults returns the sign-in with made-up values for the fields that are empty, for a
// provider with these settings. s may be nil.
func (s *SignIn) withDefaults(settings []step.Setting) *SignIn {
	out := SignIn{}
	if s != nil {
		out = *s
	}
	if len(out.Settings) == 0 {
		out.Settings = inventedSettings(settings)
	}
	out.Server, out.Typed = cmp.Or(out.Server, serverURL), cmp.Or(out.Typed, "kit-typed")
	if out.Challenge == nil {
		out.Challenge = []string{`Bearer realm="kit"`}
	}
	if out.Redirect == nil {
		out.Redirect = map[string]string{"code": "kit-code"}
	}
	if out.Run == nil {
		out.Run = &step.RunResult{Stdout: `{"Authorization":"Bearer kit-${count}"}`}
	}
	return &out
}

// inventedSettings returns an object with a value for each required setting.
func inventedSettings(settings []step.Setting) json.RawMessage {
	values := map[string]any{}
	for _, s := range settings {
		value := "kit-" + s.Key
		switch {
		case !s.Required:
		case s.Kind == step.SettingList:
			values[s.Key] = []string{value}
		case s.Kind == step.SettingTable:
			values[s.Key] = map[string]string{"kit": value}
		case s.Kind == step.SettingFlag:
			values[s.Key] = true
		default:
			values[s.Key] = value
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // texts, lists and tables of them
	}
	return text
}

// secrets returns the texts of secret settings that have 4 bytes or more. They must not be shown to a
// person. A shorter text may occur in a message by chance.
func (s *SignIn) secrets(settings []step.Setting) (list []string) {
	var values map[string]any
	_ = json.Unmarshal(s.Settings, &values) // compile has looked at it
	const least = 4
	for _, setting := range settings {
		if text, ok := values[setting.Key].(string); ok && setting.Secret && len(text) >= least {
			list = append(list, text)
		}
	}
	return list
}
