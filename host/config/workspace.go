package config

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// place says what relative paths and words for a workspace stand for in a file.
type place struct {
	words  string // the folder that the words of editors stand for, absolute; "" leaves these words as they are
	folder string // the folder of the file, absolute: paths of files of secrets start there; "" leaves them as they are
	cwd    string // the working folder; a file with several projects has one for it; "" for none
	isUser bool   // the file is the user's own and has no workspace: an entry that refers to one is left out
	denied denials
}

// placeOf returns the place of the file at an absolute path. The workspace of a file in a project
// is the folder of the project. A user's own file of a client has no workspace. For any other file
// it is the file's folder.
func placeOf(path, cwd string) place {
	at := place{words: filepath.Dir(path), folder: filepath.Dir(path), cwd: cwd}
	if at.isUser = isUserFile(path); at.isUser {
		at.words = ""
		return at
	}
	home, _ := os.UserHomeDir()
	if c := clientOf(path); c != nil {
		for _, end := range c.ends {
			folder, ok := cutEnd(filepath.ToSlash(path), end)
			if !ok || !strings.HasPrefix(end, ".") {
				continue
			}
			if at.words = filepath.FromSlash(folder); at.words == home {
				at.words, at.isUser = "", true
			}
			return at
		}
	}
	return at
}

// isUserFile reports whether a path leads to the user's own file of a client.
func isUserFile(path string) bool {
	info, err := os.Stat(path)
	for _, c := range clients {
		for _, file := range c.files {
			for _, own := range placesOf(file, runtime.GOOS) {
				if own == path {
					return true
				}
				if other, wrong := os.Stat(own); err == nil && wrong == nil && os.SameFile(info, other) {
					return true
				}
			}
		}
	}
	return false
}

// workspaceWords are the words by which editors and shells mean the folder of a workspace.
var workspaceWords = lazyregexp.New(`\$\{(workspaceFolder(Basename)?|cwd|(env:)?PWD)(:-[^}]*)?\}`)

// refuseWorkspace finds the values of an entry that refer to a workspace, where its file has
// none. They would stand for the folder that wharf is started in, with the code that lies there.
func (s Server) refuseWorkspace(e *entry) {
	bound := isBound(s.Dir)
	x := &expansion{server: &s, every: true}
	x.replace = func(field, value string) (string, []error) {
		means := workspaceWords.MatchString(strings.ReplaceAll(value, "$$", ""))
		kind, _, _ := strings.Cut(field, ".")
		switch kind, _, _ = strings.Cut(kind, "["); kind {
		case "command":
			means = means || value != "" && !bound && !isBound(value) && filepath.Base(value) != value
		case "dir", "env_file":
			means = means || value != "" && !isBound(value)
		case "args", "env":
			means = means || !bound && startsHere(assignedIn(value))
		}
		if argv := strings.Fields(value); means && field == "command" && len(argv) > 1 && filepath.Base(argv[0]) == argv[0] && !workspaceWords.MatchString(value) {
			e.fail(field, "holds arguments too; write the command and its arguments apart: the command is %q", argv[0])
			return value, nil
		}
		if means {
			e.fail(field, "means a folder of a workspace, and this file is of none; write the whole path")
		}
		return value, nil
	}
	x.all()
}

// assignedIn returns the value of a word of the form --flag=value. It returns any other word as
// it is.
func assignedIn(word string) string {
	if _, value, assigned := strings.Cut(word, "="); assigned && strings.HasPrefix(word, "-") {
		return value
	}
	return word
}

// isBound reports whether a path means the same from every folder. A path that begins with a
// variable counts as such.
func isBound(path string) bool { return filepath.IsAbs(path) || strings.HasPrefix(path, "$") }

// startsHere reports whether a word is a path from the working folder, such as ./NAME.
func startsHere(word string) bool {
	word = filepath.ToSlash(word)
	return word == "." || word == ".." || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
}

// place replaces the words by which clients mean the folder of their workspace, and lets relative
// paths start at folder. If folder is "" or has a variable, it changes nothing.
func (s *Server) place(folder string) {
	if folder == "" || strings.Contains(folder, "$") {
		return
	}
	s.replaceWords(folder)
	if s.EnvFile != "" {
		s.EnvFile = within(folder, s.EnvFile)
	}
	s.settle(folder)
}

// settle resolves the relative paths of an entry from folder, and its command from its dir. A
// command without a separator is looked up in PATH. Arguments stay as they are: a word among
// them need not be a path.
func (s *Server) settle(folder string) {
	if s.EnvFile != "" && !filepath.IsAbs(s.Dir) { // see EnvPath
		s.EnvFile = within(folder, s.EnvFile)
	}
	if s.Dir != "" {
		s.Dir = within(folder, s.Dir)
	}
	if in := cmp.Or(s.Dir, folder); s.Command != "" && isPath(in, s.Command) {
		s.Command = within(in, s.Command)
	}
	for _, argv := range []*[]string{&s.Auth.Command, &s.Sampler} { // they start in wharf's own working folder
		if len(*argv) > 0 && isPath(folder, (*argv)[0]) {
			*argv = slices.Clone(*argv)
			(*argv)[0] = within(folder, (*argv)[0])
		}
	}
}

// isPath reports whether a command is a path from a folder, and not a name that is looked up in
// PATH. If its first word is a name, the rest counts as arguments, unless a file of the whole
// text exists.
func isPath(folder, command string) bool {
	words := strings.Fields(command)
	if len(words) == 0 || words[0] == command || filepath.Base(words[0]) != words[0] {
		return filepath.Base(command) != command
	}
	_, err := os.Stat(filepath.Join(folder, command))
	return err == nil
}

// meantFile matches ${file:PATH} in a value, and an escaped dollar sign.
var meantFile = lazyregexp.New(`\$\$|\$\{file:([^}]+)\}`)

// settleSecrets resolves the relative paths of files with secrets or certificates from a
// folder.
func (s *Server) settleSecrets(folder string) {
	if folder == "" || strings.Contains(folder, "}") {
		return
	}
	x := &expansion{server: s, replace: func(_, value string) (string, []error) {
		return meantFile.ReplaceAllStringFunc(value, func(meant string) string {
			if meant == "$$" {
				return meant
			}
			return "${file:" + within(folder, meantFile.FindStringSubmatch(meant)[1]) + "}"
		}), nil
	}}
	x.all()
	for key, setting := range s.Auth.Settings { // x has cloned the map
		if r, ok := setting.(Reference); ok && r.File != "" {
			r.File = within(literal(folder), r.File)
			s.Auth.Settings[key] = r
		}
	}
	for _, path := range []*string{&s.TLS.CA, &s.TLS.Cert, &s.TLS.Key} {
		if *path != "" {
			*path = within(literal(folder), *path)
		}
	}
}

// script matches a relative file name with the extension of a program. Its first character is a
// letter, a digit, "_" or "-", so it is not "/…", "./…" or a variable.
var script = lazyregexp.New(`^[\w-][\w./\\-]*\.([cm]?[jt]s|py|rb|php|pl|lua|sh|ps1|jar|dll)$`)

// interpreters are commands that run a file among their arguments.
var interpreters = []string{
	"node", "bun", "deno", "tsx", "ts-node", "python", "python3", "py", "uv", "ruby", "php", "perl", "lua", "bash", "sh", "zsh", "pwsh", "powershell", "java", "dotnet",
}

// Script returns the index of the argument that looks like a program in the folder in which wharf
// is started, or -1. The user may mean that file, and the argument need not be a file at all.
func (s Server) Script() int {
	runs := strings.TrimSuffix(filepath.Base(s.Command), ".exe")
	if s.Dir != "" || !slices.Contains(interpreters, runs) {
		return -1
	}
	return slices.IndexFunc(s.Args, script.MatchString)
}

func (s *Server) noteScript(e *entry) {
	if i := s.Script(); i >= 0 {
		e.note(fmt.Sprintf("args[%d]", i), "%s is looked for in the folder that wharf is started in; write the whole path, unless that is meant", s.Args[i])
	}
}

// within returns path, which starts at folder if it is relative. It leaves a path that begins with
// a variable as it is.
func within(folder, path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "$") || strings.HasPrefix(path, "~") {
		return path
	}
	return filepath.Join(folder, path)
}
