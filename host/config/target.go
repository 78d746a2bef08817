package config

import (
	"fmt"
	"strings"
)

// Target describes how a server is reached: by its command line, url or address. It leaves out the
// environment and headers, where secrets belong, and hides anything elsewhere that looks like a secret.
func (s Server) Target() string {
	switch {
	case s.Command != "":
		argv := append([]string{s.Command}, s.Args...)
		if s.secrets == nil { // else it is expanded, and a dollar sign is one
			argv = Shown(argv...)
		}
		return shownCommand(argv[0], argv[1:])
	case s.URL != "":
		return withoutSecrets(s.URL)
	}
	return s.Address
}

// hidden stands for what is not shown.
const hidden = "***"

// shownCommand joins a command and its arguments, without what looks like a secret: people put
// secrets there, though they should not.
func shownCommand(command string, args []string) string {
	words := []string{Quoted(command)}
	for _, arg := range HideSecrets(args, hidden) {
		words = append(words, Quoted(arg))
	}
	return strings.Join(words, " ")
}

// Quoted quotes an argument where it would not read as one.
func Quoted(text string) string {
	if text == "" || strings.ContainsAny(text, " \t\n'\"") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// withoutSecrets hides what looks like a secret in a URL, and all values of its query, because the
// name of a value seldom tells whether it is a key. The URL may hold variables, so it is split as
// text.
func withoutSecrets(url string) string {
	address, query, asked := strings.Cut(url, "?")
	address = HideSecret(address, hidden)
	if !asked {
		return address
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		parts[i] = name + "=" + mask(value)
	}
	return address + "?" + strings.Join(parts, "&")
}

// mask hides a value, unless it is only the name of a variable.
func mask(value string) string {
	if strings.HasPrefix(value, "${") && strings.HasSuffix(value, "}") && !strings.Contains(value, ":-") {
		return value
	}
	return hidden
}
