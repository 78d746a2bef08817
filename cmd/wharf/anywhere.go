package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
)

// configAnywhere returns the words that name the file of --config, if there is one, in any folder.
func (a *app) configAnywhere() ([]string, error) {
	if a.flags.config == "" {
		return nil, nil
	}
	path, err := filepath.Abs(a.flags.config)
	return []string{"--config", path}, err
}

// lasting returns the flags of the command line that hold whenever a client starts the program, in any
// folder.
func (a *app) lasting(shared bool) (words []string, err error) {
	if shared {
		words = append(words, "--shared")
	}
	if a.flags.timeout.given {
		words = append(words, "--timeout", a.flags.timeout.limit.String())
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{{"--quiet", a.flags.quiet}, {"--browser", a.flags.browser}, {"--no-browser", a.flags.noBrowser}} {
		if flag.given {
			words = append(words, flag.name)
		}
	}
	for _, file := range [][2]string{{"--trace", a.flags.trace}, {"--record", a.flags.record}} {
		if file[1] == "" {
			continue
		}
		path, err := filepath.Abs(file[1])
		if err != nil {
			return nil, err
		}
		words = append(words, file[0], path)
	}
	return words, nil
}

// fromAnywhere returns the words with which `wharf COMMAND` reaches a server from any folder.
// before stands ahead of the other words of the command. behind stands after them and begins with
// "--"; it holds the command line of a server that has no entry. For such a server, before has the
// names of its variables, and not their values.
func (a *app) fromAnywhere(server host.Server) (before, behind []string, err error) {
	before, err = a.configAnywhere()
	if err != nil {
		return nil, nil, err
	}
	if !a.adHoc {
		return append(before, a.serverWord()), nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(server.Env)) {
		before = append(before, "-e", name)
	}
	argv, err := anywhere(server)
	return before, append([]string{"--"}, argv...), err
}

// anywhere returns the command line of a server for use in any folder. It has the whole paths of
// its program, of the script that the program runs, and of arguments that begin as a path of this
// folder.
func anywhere(server host.Server) ([]string, error) {
	argv := append([]string{server.Command}, server.Args...)
	script := 1 + server.Script()
	for i, word := range argv {
		if isPath := i == 0 && filepath.Base(word) != word || i > 0 && (i == script || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")); !isPath {
			continue
		}
		path, err := wholePath(word)
		if err != nil {
			return nil, err
		}
		if isThere(word) {
			argv[i] = path
		}
	}
	return argv, nil
}

// wholePath returns the path of a word of the command line of a server. It has none in a folder that was removed.
func wholePath(word string) (string, error) {
	path, err := filepath.Abs(word)
	if err != nil {
		return "", exit.Usage(fmt.Errorf("the folder in which %s would be is not there any more: %w", plain.Word(word), err), "go to a folder that is there, or write the whole path")
	}
	return path, nil
}

// lacksAnywhere says what is lost when the words of fromAnywhere stand in a text, and what works
// only in this folder. what names that text: "the program", say.
func (a *app) lacksAnywhere(what string, server host.Server) (said []string) {
	name, script := plain.Name(server.Name, plain.NameColumns), server.Script()
	tell := func(format string, v ...any) { said = append(said, fmt.Sprintf(format, v...)) }
	switch {
	case a.adHoc:
		if names := slices.Sorted(maps.Keys(server.Env)); len(names) > 0 {
			tell("%s holds no values of variables: it takes %s from the environment that it runs in", what, strings.Join(names, ", "))
		}
		if argv, err := anywhere(server); err == nil {
			said = append(said, boundToFolder(argv)...)
		}
		for _, place := range server.PlainSecrets() {
			if name, ok := strings.CutPrefix(place, "args."); ok {
				tell("the value of %s looks like a secret, and is in %s as it is", plain.Word(name), what)
			}
		}
	case a.address != "" && len(a.flags.headers) > 0:
		tell("%s holds no headers: `wharf add` writes an entry that has them; name that entry here", what)
	case server.Project != nil:
		tell("%s is a server of the project in %s: %s finds it only there", name, server.Project.Folder, what)
	case script >= 0:
		tell("%s of the entry of %s is looked for in the folder that it is started in; write its whole path there", plain.Word(server.Args[script]), name)
	}
	return said
}

// boundToFolder says which words of a command line that anywhere returned are still files of this folder.
func boundToFolder(argv []string) (said []string) {
	for _, word := range argv[1:] {
		if !filepath.IsAbs(word) && isThere(word) {
			said = append(said, plain.Word(word)+" is looked for in the folder that it is started in; write its whole path, unless that is meant")
		}
	}
	return said
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
