package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// syntax turns a client's variables in the value of a field into those of [Server.Expand]. An
// error says what cannot be turned, and what to do.
type syntax func(field, value string) (string, error)

// literal escapes a text so that Expand returns it unchanged.
var literal = strings.NewReplacer("$$", "$$$$", "${", "$${").Replace

// Escape returns words that a person typed as a value of Wharf's own file, which expands to them. In them
// ${env:NAME}, ${secret:NAME} and ${file:PATH} are meant as they are in the file, and with names ${NAME} too.
func Escape(words string, names bool) string {
	return replaceAll(placeholder, words, func(m []string) string {
		if names || explicit.MatchString(m[1]) {
			return m[0]
		}
		return literal(m[0])
	})
}

// Shown returns values of an entry that is not expanded as the server gets them, save that ${NAME} and the
// like are not replaced. It is for people: a text ${NAME} and a variable look the same in it.
func Shown(values ...string) []string {
	out := make([]string, len(values))
	for i, value := range values {
		out[i] = strings.ReplaceAll(value, "$$", "$")
	}
	return out
}

// noSyntax is for clients that replace nothing in a value.
func noSyntax(_, value string) (string, error) { return literal(value), nil }

var (
	eitherVariable   = lazyregexp.New(`\$\{([^}]+)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
	crushPart        = lazyregexp.New(`\\[$\\\x60]|\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[^}]*\}|[$@*#?!0-9-])`)
	echoed           = lazyregexp.New(`^\$\(echo((?: "?(?:[\w./:=@%+,]|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})+"?)+)\)$`)
	braced           = lazyregexp.New(`\{(env|file):([^{}]*)\}`)
	placeholder      = lazyregexp.New(`\$\{([^}]*)\}`)
	editorSetting    = lazyregexp.New(`\$\{(config|command):[^}]*\}`)
	editorWord       = lazyregexp.New(`^((env|input|config|command):[\s\S]*|workspaceFolder(Basename)?|cwd|userHome|pathSeparator|/)$`)
	editorVariable   = lazyregexp.New(`^env:([A-Za-z_][A-Za-z0-9_()]*)(?::.*)?$`)
	explicit         = lazyregexp.New(`^(env|secret|file):`)
	ofWharf          = lazyregexp.New(`^(secret:|file:|\?)`)
	shellVariable    = lazyregexp.New(`^\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*|:?\?[^}]*)?\}$`)
	mcporterVariable = lazyregexp.New(`\$env:([A-Za-z_][A-Za-z0-9_]*)|\$\{([^}]*)\}`)
	librechatUser    = lazyregexp.New(`\{\{\s*\w+\s*\}\}`)
	continueVariable = lazyregexp.New(`\$\{\{\s*(?:secrets|inputs)\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)
)

// unbraced matches a value that a shell would take for a variable, and a header that ends
// with one. unprefixed matches one that other clients than those with a prefix would.
var (
	unbraced   = lazyregexp.New(`^(?:[A-Za-z]+ )?(\$(?:env:)?([A-Za-z_][A-Za-z0-9_]*))$`)
	unprefixed = lazyregexp.New(`^(?:[A-Za-z]+ )?(\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\})$`)
)

// hubCommand matches a command in a value. mcphub.nvim replaces it by the command's output. Any
// other client would read it as a variable, and no variable has such a name.
var hubCommand = lazyregexp.New(`\$\{\s*cmd:`)

const hubRuns = "holds a command, ${cmd: …}, which mcphub.nvim would run when it reads the file; wharf does not: set a variable, and write ${NAME}"

// errHubCommand is about a command in a file that knows ${file:PATH}.
var errHubCommand = errors.New(hubRuns + ", or have the output in a file, and write ${file:PATH}")

// ownSyntax is for files of no client in the table: people write them for Wharf too, and so ${secret:NAME} and
// ${file:PATH} are what they are in Wharf's own file. To every client they are texts.
func ownSyntax(_, value string) (string, error) {
	if hubCommand.MatchString(value) {
		return "", errHubCommand
	}
	return replaceAll(placeholder, value, func(m []string) string { return m[0] }), nil
}

// bareSyntax is for clients that know ${NAME}. Nothing escapes a dollar sign.
func bareSyntax(_, value string) (string, error) {
	if hubCommand.MatchString(value) {
		return "", errors.New(hubRuns)
	}
	return replaceAll(placeholder, value, func(m []string) string { return variableOf(m[0], m[1]) }), nil
}

// variableOf returns the variable of a client that knows ${NAME}, of which inner is the inside. What only Wharf
// would not take for a name is a text.
func variableOf(written, inner string) string {
	if ofWharf.MatchString(inner) {
		return literal(written)
	}
	return written
}

// editorSyntax is for clients that know ${env:NAME} and the words of editors. ${NAME} is a text to them,
// which the server may replace itself, as mcp-remote does.
func editorSyntax(_, value string) (string, error) {
	return replaceAll(placeholder, value, func(m []string) string {
		if editorWord.MatchString(m[1]) {
			return m[0]
		}
		return literal(m[0])
	}), nil
}

// windsurfSyntax knows ${file:PATH} beside what editors know. "~" begins a path in the home folder.
func windsurfSyntax(_, value string) (string, error) {
	return replaceAll(placeholder, value, func(m []string) string {
		if editorWord.MatchString(m[1]) || strings.HasPrefix(m[1], "file:") {
			return m[0]
		}
		return literal(m[0])
	}), nil
}

// optionSyntax is that of the settings of a JetBrains IDE, which writes the home folder as $USER_HOME$ (PathMacroUtil).
func optionSyntax(_, value string) (string, error) {
	return strings.ReplaceAll(literal(value), "$USER_HOME$", "${userHome}"), nil
}

// hubSyntax is that of mcp-hub, in src/utils/env-resolver.js: an argument that is all $NAME is a variable too.
func hubSyntax(field, value string) (string, error) {
	if strings.HasPrefix(field, "args[") {
		if name := strings.TrimPrefix(value, "$"); name != value && variable.MatchString(name) {
			return "${" + name + "}", nil
		}
	}
	return bareSyntax(field, value)
}

// codeSyntax is that of VS Code, to which ${env:NAME} is empty where it is not set (variableResolver.ts). It refuses
// settings and commands of the editor.
func codeSyntax(_, value string) (string, error) {
	if m := editorSetting.FindString(value); m != "" {
		return "", fmt.Errorf("holds %s, which only VS Code knows; write its value", m)
	}
	return replaceAll(placeholder, value, func(m []string) string {
		switch name := editorVariable.FindStringSubmatch(m[1]); {
		case name != nil:
			return "${env:" + name[1] + ":-}"
		case editorWord.MatchString(m[1]):
			return m[0]
		}
		return literal(m[0])
	}), nil
}

// geminiSyntax knows $NAME and ${NAME}. Nothing escapes a dollar sign, and a variable that is set nowhere is a text
// (envVarResolver.ts).
func geminiSyntax(_, value string) (string, error) {
	return replaceAll(eitherVariable, value, func(m []string) string {
		if name := m[2]; name != "" {
			return "${" + name + ":-$" + name + "}"
		}
		return variableOf(m[0], m[1])
	}), nil
}

// gooseSyntax knows $NAME and ${NAME} in the url and the headers. They are the variables that the entry names,
// and never others of the environment (substitute_env_vars in extension_manager.rs).
func gooseSyntax(named map[string]string) syntax {
	return func(field, value string) (string, error) {
		if field != "url" && !strings.HasPrefix(field, "headers.") {
			return noSyntax(field, value)
		}
		return replaceAll(eitherVariable, value, func(m []string) string {
			name := strings.TrimSpace(m[1]) + m[2]
			if _, given := named[name]; !given {
				return literal(m[0])
			}
			return "${" + name + "}"
		}), nil
	}
}

// crushSyntax is that of the text of a here-document, which Crush expands: a backslash escapes a dollar sign, and
// $$ and the other special parameters are empty. It refuses commands, except an echo as Crush's
// documentation has it. The words of such an echo are variables, and words whose characters mean
// nothing to a shell or, as - does, to echo; so echo only prints them. A variable that is not set is empty, but
// ${NAME:?text} is an error then (internal/config/resolve.go).
func crushSyntax(_, value string) (string, error) {
	if m := echoed.FindStringSubmatch(value); m != nil && strings.Count(m[1], `"`)%2 == 0 {
		value = strings.ReplaceAll(m[1][1:], `"`, "")
	}
	if left := crushPart.ReplaceAllString(value, ""); strings.Contains(left, "$(") || strings.Contains(left, "`") {
		return "", errors.New("holds a command, $(…), which Crush would run when it reads the file; wharf does not: set a variable, and write $NAME")
	}
	for _, at := range crushPart.FindAllStringSubmatchIndex(value, -1) {
		if part := value[at[0]:at[1]]; strings.HasPrefix(part, "${") && !shellVariable.MatchString(part[1:]) {
			return "", fmt.Errorf("holds %s, which Crush has a shell work out; wharf does not: write $NAME, ${NAME} or ${NAME:-default}", part)
		}
	}
	return replaceAll(crushPart, value, func(m []string) string {
		switch name := strings.TrimPrefix(m[0], "$"); {
		case m[0] == `\$`:
			return "$$"
		case name == m[0]:
			return name[1:]
		case name[0] == '{':
			part := shellVariable.FindStringSubmatch(name)
			switch {
			case part[2] == "":
				return "${" + part[1] + ":-}"
			case strings.HasPrefix(part[2], ":-"):
				return m[0]
			}
			return "${" + part[1] + "}"
		case variable.MatchString(name):
			return "${" + name + ":-}"
		}
		return ""
	}), nil
}

// braceSyntax knows {env:NAME} and {file:path}. A variable that is not set is empty (substitute in
// packages/opencode/src/config/variable.ts).
func braceSyntax(_, value string) (string, error) {
	return replaceAll(braced, value, func(m []string) string {
		if m[1] == "env" && variable.MatchString(m[2]) {
			return "${env:" + m[2] + ":-}"
		}
		return "${" + m[1] + ":" + m[2] + "}"
	}), nil
}

// mcporterSyntax knows $env:NAME beside ${NAME}.
func mcporterSyntax(_, value string) (string, error) {
	return replaceAll(mcporterVariable, value, func(m []string) string {
		if m[1] != "" {
			return "${" + m[1] + "}"
		}
		return variableOf(m[0], m[2])
	}), nil
}

// continueSyntax knows ${{ secrets.NAME }}, which Continue takes from the environment or
// from a file of its own.
func continueSyntax(_, value string) (string, error) {
	out := replaceAll(continueVariable, value, func(m []string) string { return "${" + m[1] + "}" })
	if strings.Contains(out, "${{") {
		return "", fmt.Errorf("%q is not understood; write ${{ secrets.NAME }}", value)
	}
	return out, nil
}

// librechatSyntax knows ${NAME} in all values but the command (processMCPEnv in packages/api/src/utils/env.ts). What is
// not set is a text (extractEnvVariable in packages/data-provider/src/utils.ts).
func librechatSyntax(field, value string) (string, error) {
	if field == "command" {
		return noSyntax(field, value)
	}
	return bareSyntax(field, value)
}

// replaceAll replaces each match of a pattern, and escapes the text between the matches with
// literal. A dollar sign at the end of such a text stays one before the replacement too.
func replaceAll(pattern *lazyregexp.Regexp, value string, replace func(match []string) string) string {
	var b strings.Builder
	end := 0
	for _, at := range pattern.FindAllStringSubmatchIndex(value, -1) {
		text := value[end:at[0]]
		b.WriteString(literal(text))
		if (len(text)-len(strings.TrimRight(text, "$")))%2 == 1 {
			b.WriteString("$")
		}
		b.WriteString(replace(pattern.FindStringSubmatch(value[at[0]:at[1]])))
		end = at[1]
	}
	b.WriteString(literal(value[end:]))
	return b.String()
}
