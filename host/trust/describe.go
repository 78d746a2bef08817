package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
)

// describe adds all facts that the use of a server depends on. It reads the project's files for
// them within a budget. The order of the facts is part of their hash.
func (a *Approval) describe(s config.Server, plugins map[string]config.Plugin, b *budget) error {
	a.Entry = Entry{Project: s.Project.Folder, File: s.Project.File, Server: s.Name}
	a.add("grants", grantOf(s))
	a.add("transport", s.Via())
	for _, name := range []string{s.Via(), s.Auth.Provider} {
		if p := plugins[name]; p.File != "" {
			a.list("plugin "+name, p.File, "sha256:"+p.SHA256)
		}
	}
	if s.Command != "" {
		if err := a.process(s, b); err != nil {
			return err
		}
	}
	if s.URL != "" {
		a.remote(s)
	}
	a.add("address", s.Address)
	a.list("variables", s.Variables()...)
	a.list("asks for", inputsOf(s)...)
	a.add("sign-in", s.Auth.Provider)
	a.signIn(s.Auth)
	a.list("settings", slices.Sorted(maps.Keys(s.Settings))...)
	a.hidden("setting", s.Settings)
	var options []string // no timeouts: they grant nothing, and the user's own --timeout takes their place
	for _, o := range [][2]string{{"protocol", s.Protocol}, {"framing", s.Framing}} {
		if o[1] != "" {
			options = append(options, o[0]+"="+o[1])
		}
	}
	a.list("options", options...)
	enabled := s.EnabledByFile()
	if enabled != nil && len(enabled) == 0 { // unlike nil, which is all
		a.add("tools", "none is enabled")
	}
	a.list("enabled tools", enabled...)
	a.list("disabled tools", s.DisabledByFile()...)
	return nil
}

// incompleteFact is in each entry that [incomplete] returns.
const incompleteFact = "incomplete"

// incomplete returns an entry for a server that cannot be described, because something that it names
// is missing or cannot be read. It has what the file of the server says. A person can deny it.
func incomplete(s config.Server) Entry {
	a := Approval{Entry: Entry{Project: s.Project.Folder, File: s.Project.File, Server: s.Name}}
	a.add(incompleteFact, "something that it names is missing, or cannot be read")
	a.add("grants", grantOf(s))
	a.add("transport", s.Via())
	a.add("command", s.Command)
	a.list("arguments", s.Args...)
	a.add("folder", s.Dir)
	a.add("env_file", s.EnvFile)
	a.list("environment", slices.Sorted(maps.Keys(s.Env))...)
	a.hidden("environment", s.Env)
	return a.Entry
}

// add adds a fact, unless its value is empty.
func (a *Approval) add(name, value string) {
	if value != "" {
		a.Facts = append(a.Facts, Fact{Name: name, Values: []string{value}})
	}
}

func (a *Approval) list(name string, values ...string) {
	if len(values) > 0 {
		a.Facts = append(a.Facts, Fact{Name: name, Values: values, List: true})
	}
}

// hidden adds a fact for each value of a table, as a digest: the values may be secret.
func (a *Approval) hidden(name string, table map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		a.Facts = append(a.Facts, Fact{
			Name: name + " " + key, Values: []string{digestOf(table[key])}, Hidden: true, written: table[key],
		})
	}
}

func (a *Approval) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

// process describes what would be started.
func (a *Approval) process(s config.Server, b *budget) (err error) {
	a.Command, err = process.Process{Command: s.Command, Dir: s.Dir}.Locate()
	if errors.Is(err, fs.ErrNotExist) {
		return &hosterr.Error{Kind: hosterr.ErrUnreachable, Err: err}
	}
	if err != nil {
		return err
	}
	a.add("command", a.Command)
	b.tried = 0
	real, err := b.real(s.Project.Folder, a.Command)
	if err != nil {
		return err
	}
	if real != a.Command {
		a.add("which is", real)
	}
	a.list("arguments", s.Args...)
	a.add("folder", s.Dir)
	envFile, err := a.envFile(s, b)
	if err != nil {
		return err
	}
	env := maps.Clone(a.FileEnv)
	if env == nil {
		env = make(map[string]string)
	}
	maps.Copy(env, s.Env)
	a.list("environment", slices.Sorted(maps.Keys(env))...)
	a.hidden("environment", s.Env)
	f, err := b.code(s.Project.Folder, s.Dir, a.Command, argsOf(s, os.LookupEnv), env)
	if err != nil {
		return err
	}
	var w warnings
	unset := func(string) (string, bool) { return "", false } // except for their defaults
	w.command(a.Command, argsOf(s, unset), f)
	w.environment(env, f)
	a.Warnings = slices.Concat(w.worst, w.others)
	if s.Sandboxed() {
		a.warn("%s", config.NoSandbox)
	}
	var names []string
	contents := make(map[string]string)
	for _, file := range f.found {
		names = append(names, file.path)
		contents[file.path] = file.hash
	}
	if envFile.path != "" { // replaces what another look at the file has found
		if contents[envFile.path] == "" {
			names = append(names, envFile.path)
		}
		contents[envFile.path] = envFile.hash
	}
	a.list("files", names...)
	a.hidden("contents of", contents)
	if len(names) > 0 {
		a.warn("of the project's own files, those named here are compared each time; what they load is not")
	}
	return nil
}

// maxEnvFile is the largest file of variables, in bytes.
const maxEnvFile = 64 << 10

// envFile reads the file of variables of an entry into FileEnv, and returns its pin, which is
// empty if there is no file. The file has to lie in the project. It is read once, so that the
// variables come from the bytes that are pinned. It is pinned like a script, since its variables
// may decide which code a program loads.
func (a *Approval) envFile(s config.Server, b *budget) (pin fileHash, err error) {
	if s.EnvFile == "" {
		return fileHash{}, nil
	}
	a.add("env_file", s.EnvFile)
	pin.path = below(s.Project.Folder, s.EnvFile)
	text, err := readWithin(s.Project.Folder, pin.path)
	if err == nil {
		a.FileEnv, err = config.ParseEnv(s.EnvFile, text)
	}
	if err != nil {
		return fileHash{}, hosterr.Configf("%w", s.EnvError(err))
	}
	pin.hash = digestOf(text)
	return pin, b.spend(int64(len(text)))
}

// readWithin reads a small file below a folder. It follows no link out of the folder.
func readWithin(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not wait for its writer
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	var text []byte
	if info.Mode().IsRegular() {
		text, err = io.ReadAll(io.LimitReader(f, maxEnvFile+1))
	}
	if err == nil && (!info.Mode().IsRegular() || len(text) > maxEnvFile) {
		err = fmt.Errorf("%s is no file of at most %d KiB", name, maxEnvFile>>10)
	}
	return string(text), err
}

// argsOf returns the arguments that the command will get, with the variables and defaults
// replaced, if lookup is [os.LookupEnv]. An argument with a variable that is not set stays as it
// is; such an entry cannot be used. Of the values, only the names of the project's own files are
// shown.
func argsOf(s config.Server, lookup func(string) (string, bool)) []string {
	args := slices.Clone(s.Args)
	for i, arg := range args {
		one := config.Server{Name: s.Name, Args: []string{arg}}
		if out, err := one.Release(one.Variables(), lookup); err == nil {
			args[i] = out.Args[0]
		}
	}
	return args
}

// signIn adds the facts about the sign-in to the server. The scopes and the client are not
// secret.
func (a *Approval) signIn(auth config.Auth) {
	secret := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(auth.Settings)) {
		id, isText := auth.Settings[key].(string)
		scopes, isList := auth.Settings[key].([]string)
		switch {
		case isText && key == "client_id":
			a.add("sign-in client_id", id)
		case isList && key == "scopes":
			a.list("sign-in scopes", scopes...)
		default:
			secret[key] = fmt.Sprintf("%q", auth.Settings[key]) // maps are printed sorted
		}
	}
	a.hidden("sign-in", secret)
}

// inputsOf returns the ids of the questions whose answers an entry gets.
func inputsOf(s config.Server) (ids []string) {
	for _, in := range s.Inputs {
		ids = append(ids, in.ID)
	}
	return ids
}

// remote describes what would be reached.
func (a *Approval) remote(s config.Server) {
	a.add("url", s.URL)
	a.add("strategy", s.Strategy)
	a.list("headers", slices.Sorted(maps.Keys(s.Headers))...)
	a.hidden("header", s.Headers)
	if scheme, _, _ := strings.Cut(s.URL, ":"); scheme == "http" || scheme == "ws" {
		a.warn("%s is not encrypted: who is on the way reads and changes what is sent", scheme)
	}
	if ids := inputsOf(s); len(ids) > 0 {
		a.warn("your answers to %s are sent there", strings.Join(ids, ", "))
	}
	const few = 10
	if names := s.Variables(); len(names) > few {
		a.warn("the values of %s and %d more variables are sent there", strings.Join(names[:few], ", "), len(names)-few)
	} else if len(names) > 0 {
		a.warn("the values of %s are sent there", strings.Join(names, ", "))
	}
}

// grantOf says in one line what an approval allows.
func grantOf(s config.Server) string {
	switch {
	case s.Command != "":
		return "run the command, with all that you may do yourself"
	case strings.HasPrefix(s.URL, "unix:"):
		return "reach a socket of this machine"
	case s.URL != "":
		return "reach the url"
	case s.Address != "":
		return "reach the address"
	}
	return "use the plugin"
}
