package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// EnvPath returns the path of EnvFile. A relative one counts from Dir, if that is absolute, or
// else from the folder of the file that has the entry. Only for an entry that a program has made
// does it count from the working folder.
func (s Server) EnvPath() string {
	switch {
	case filepath.IsAbs(s.EnvFile):
		return s.EnvFile
	case filepath.IsAbs(s.Dir):
		return filepath.Join(s.Dir, s.EnvFile)
	}
	return filepath.Join(filepath.Dir(s.file), s.EnvFile)
}

// EnvError adds two facts to an error of reading EnvFile: the path of that file, and the key of
// the entry that names it.
func (s Server) EnvError(err error) error {
	if of := (*fs.PathError)(nil); errors.As(err, &of) { // its path may be relative
		err = fmt.Errorf("%s: %w", s.EnvPath(), of.Err)
	}
	return fmt.Errorf("%s: %w", cmp.Or(s.envFile, "env_file"), err)
}

// ParseEnv reads a file of variables such as editors' .env files. Each line is NAME=value,
// perhaps after "export"; there may be comments, and values in quotes. Values in double quotes
// may hold \n, \", \\ and \$. No variable is replaced in a value. The path is for errors.
func ParseEnv(path, text string) (map[string]string, error) {
	env := make(map[string]string)
	line := 0
	for l := range strings.Lines(text) {
		line++
		l = strings.TrimSpace(strings.TrimPrefix(l, "\ufeff"))
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		name, value, assigned := strings.Cut(strings.TrimPrefix(l, "export "), "=")
		name = strings.TrimSpace(name)
		if !assigned || !variable.MatchString(name) {
			return nil, &Error{File: path, Line: line, Problem: "expected NAME=value"}
		}
		value, ok := envValue(strings.TrimSpace(value))
		if !ok {
			return nil, &Error{File: path, Line: line, Problem: "a quote is not closed; values of several lines are not read"}
		}
		env[name] = value
	}
	return env, nil
}

// envValue returns a value without its quotes and without the comment behind it.
func envValue(text string) (value string, ok bool) {
	if text == "" {
		return "", true
	}
	quote := text[0]
	if quote != '"' && quote != '\'' && quote != '`' {
		if at := strings.Index(text, " #"); at >= 0 {
			text = strings.TrimSpace(text[:at])
		}
		return text, true
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), true
		case c == '\\' && quote == '"' && i+1 < len(text):
			i++
			switch text[i] {
			case 'n':
				b.WriteByte('\n')
			case 'r':
				b.WriteByte('\r')
			case 't':
				b.WriteByte('\t')
			case '"', '\\', '$':
				b.WriteByte(text[i])
			default:
				b.WriteString(`\` + text[i:i+1])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}
