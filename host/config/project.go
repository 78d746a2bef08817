package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Project is the origin of an entry that the user did not write.
type Project struct {
	Folder string // absolute, without links
	File   string // within the folder, with slashes: ".vscode/mcp.json"
}

// Path returns where the file is.
func (p Project) Path() string { return filepath.Join(p.Folder, filepath.FromSlash(p.File)) }

// Release returns an entry of a project that may be used, once the user has approved of it. Its
// variables are replaced, but only those in names are looked up. lookup is [os.LookupEnv] or a
// function like it. The result runs the same command from the same folder, whatever the working
// folder is. An entry that refers to a secret of the user is an error.
func (s Server) Release(names []string, lookup func(string) (string, bool)) (Server, error) {
	claim := s
	out, err := s.expand(func(name string) (string, bool) {
		if !slices.Contains(names, name) {
			return "", false
		}
		return lookup(name)
	})
	out.Project, out.claim = nil, &claim
	if what := s.secretOfUser(); what != "" {
		return Server{}, errors.Join(err, s.mistake("", "%s", what))
	}
	return out, err
}

// Claim returns the project's entry from which [Server.Release] made s. released is false if
// Release has not made s.
func (s Server) Claim() (claim Server, released bool) {
	if s.claim == nil {
		return Server{}, false
	}
	return *s.claim, true
}

// grantsNothing is the end of a message about an entry that wants something that only a user
// can give.
const grantsNothing = "a project file can grant nothing; write the entry into your own configuration if you want it"

// secretOfUser says what is wrong with an entry that refers to a secret of the vault, or to the
// content of a file; "" is nothing. The person's answers to questions of the entry's file are no
// such secrets.
func (s Server) secretOfUser() (what string) {
	s.pieces(func(pieces []piece) {
		for _, p := range pieces {
			switch {
			case p.asks != "":
			case p.secret.Secret != "":
				what = fmt.Sprintf("it means the secret %q of your vault; %s", p.secret.Secret, grantsNothing)
			case p.secret.File != "":
				what = fmt.Sprintf("it means what is in the file %q; %s", p.secret.File, grantsNothing)
			}
		}
	})
	return what
}

// projectAuth maps each provider to the settings that a project may choose. They say how to sign
// in to the project's own server, and reach nothing that is kept for another.
var projectAuth = map[string][]string{
	"":       nil,
	AuthNone: nil,
	oauth:    {"client_id", "client_secret", "scopes", "callback_host", "callback_port", "callback_path"},
	"bearer": {"token"},
}

// refuse finds the parts that an entry of a project must not have: those that grant something
// beyond its own command, url or address, those that open files or secrets of the user, and
// variables where the user could not see what they lead to.
func (s *Server) refuse() []*Error {
	if s.Auth.Env[helperURL] != "" {
		return []*Error{s.mistake("headersHelper", grantsNothing)}
	}
	var wrong []*Error
	for _, c := range []struct {
		field   string
		refused bool
		problem string
	}{
		{"command", strings.Contains(s.Command, "$"), "is shown as it will run, and so holds no variable in a project file; write it out"},
		{"dir", strings.Contains(s.Dir, "$"), "is shown as it will be, and so holds no variable in a project file; write it out"},
		{"env_file", s.EnvFile != "" && !isWithin(s.Project, s.EnvFile), "is read where it lies in the project only; write the variables into env"},
		{"address", strings.Contains(s.Address, "$"), "is shown as it will be, and so holds no variable in a project file; write it out"},
		{"url", strings.Contains(authority(s.URL), "$"), "no variable may decide in a project file which host is reached; write the host out"},
		{"proxy", s.Proxy != "", grantsNothing},
		{"tls", s.TLS != TLS{}, grantsNothing},
		{"message_cap", s.MessageCap != 0, grantsNothing},
		{"resend", s.Resend, "is for the user to decide, and not for a project file"},
		{"share", s.Share != "" || s.Copies != 0, grantsNothing},
		{"sampler", len(s.Sampler) > 0, grantsNothing},
		{"auth.command", len(s.Auth.Command) > 0 || len(s.Auth.Env) > 0, grantsNothing},
		{"auth.variables", len(s.Auth.Variables) > 0, grantsNothing},
		{"auth.blob", s.Auth.Blob, grantsNothing},
		{"auth.request_body", s.Auth.RequestBody, grantsNothing},
	} {
		if c.refused {
			wrong = append(wrong, s.mistake(c.field, "%s", c.problem))
		}
	}
	if what := s.secretOfUser(); what != "" {
		wrong = append(wrong, s.mistake("", "%s", what))
	}
	known, ok := projectAuth[s.Auth.Provider]
	if !ok {
		return append(wrong, s.mistake("auth.provider", "%q: %s", s.Auth.Provider, grantsNothing))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Auth.Settings)) {
		r, _ := s.Auth.Settings[key].(Reference)
		if !slices.Contains(known, key) || r.File != "" || r.Secret != "" {
			wrong = append(wrong, s.mistake("auth."+key, grantsNothing))
		}
	}
	return wrong
}

// isWithin reports whether a path lies in the folder of a project. It compares names only.
func isWithin(p *Project, path string) bool {
	rel, err := filepath.Rel(p.Folder, path)
	return err == nil && filepath.IsLocal(rel) && !strings.Contains(path, "$")
}

// authority returns the part of a url that decides which server is reached, and all before it.
func authority(url string) string {
	scheme, rest, found := strings.Cut(url, "://")
	if !found {
		return url
	}
	if strings.HasPrefix(scheme, "unix") {
		return url // all of it is where the socket is
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + rest
}

// bind makes an entry of a project independent of the working folder. It replaces the words by
// which editors mean the project's folder, and lets relative paths start at that folder.
func (s *Server) bind(p Project) {
	s.replaceWords(p.Folder)
	s.Project = &p
	if s.Command == "" {
		return
	}
	if s.EnvFile != "" && !filepath.IsAbs(s.EnvFile) {
		s.EnvFile = filepath.Join(p.Folder, s.EnvFile)
	}
	if !filepath.IsAbs(s.Dir) {
		s.Dir = filepath.Join(p.Folder, s.Dir)
	}
	if isPath(s.Dir, s.Command) && !filepath.IsAbs(s.Command) {
		s.Command = filepath.Join(s.Dir, s.Command)
	}
}

// replaceWords replaces the words by which editors mean the workspace by folder, and those for
// the home folder by its path.
func (s *Server) replaceWords(folder string) {
	separator := string(filepath.Separator)
	words := []string{
		"$$", "$$", // an escape is no beginning of a word
		"${workspaceFolder}", folder, "${workspaceFolderBasename}", filepath.Base(folder), "${cwd}", folder,
		"${pathSeparator}", separator, "${/}", separator,
	}
	if home, err := os.UserHomeDir(); err == nil && !strings.Contains(home, "$") {
		words = append(words, "${userHome}", home)
	}
	r := strings.NewReplacer(words...)
	x := &expansion{server: s, replace: func(_, value string) (string, []error) { return r.Replace(value), nil }}
	x.all()
}

// replaceTilde replaces a "~" that begins a path outside of shells by the home folder.
func (s *Server) replaceTilde(home string) {
	for _, path := range []*string{&s.Command, &s.Dir, &s.EnvFile} {
		if rest, ok := strings.CutPrefix(*path, "~"); ok && (rest == "" || rest[0] == '/') {
			*path = home + rest
		}
	}
}
