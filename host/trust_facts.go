package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/trust"
)

// description is what is known of a server of a project before it is used.
type description struct {
	entry    trust.Entry
	command  string // its path; "" where there is none
	warnings []string
}

// describe finds out all that the use of an entry depends on, and reads the
// project's files for it within a budget. The order of the facts is part of their
// hash.
func describe(s Server, files map[string]config.Plugin, b *trust.Budget) (*description, error) {
	d := &description{entry: trust.Entry{Project: s.Project.Folder, File: s.Project.File, Server: s.Name}}
	d.add("grants", grantOf(s))
	d.add("transport", s.Via())
	for _, name := range []string{s.Via(), s.Auth.Provider} {
		if p := files[name]; p.File != "" {
			d.list("plugin "+name, p.File, "sha256:"+p.SHA256)
		}
	}
	if s.Command != "" {
		if err := d.process(s, b); err != nil {
			return nil, err
		}
	}
	if s.URL != "" {
		d.remote(s)
	}
	d.add("address", s.Address)
	d.list("variables", s.Variables()...)
	d.add("sign-in", s.Auth.Provider)
	d.signIn(s.Auth)
	d.list("settings", slices.Sorted(maps.Keys(s.Settings))...)
	d.hidden("setting", s.Settings)
	d.list("options", optionsOf(s)...)
	return d, nil
}

// add adds a fact, unless there is none.
func (d *description) add(name, value string) {
	if value != "" {
		d.entry.Facts = append(d.entry.Facts, trust.Fact{Name: name, Values: []string{value}})
	}
}

func (d *description) list(name string, values ...string) {
	if len(values) > 0 {
		d.entry.Facts = append(d.entry.Facts, trust.Fact{Name: name, Values: values, List: true})
	}
}

// hidden adds a fact for each value of a table, which may be secret.
func (d *description) hidden(name string, table map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		d.entry.Facts = append(d.entry.Facts, trust.Fact{
			Name: name + " " + key, Values: []string{trust.Digest(table[key])}, Hidden: true,
		})
	}
}

func (d *description) warn(format string, a ...any) {
	d.warnings = append(d.warnings, fmt.Sprintf(format, a...))
}

// process describes what would be started.
func (d *description) process(s Server, b *trust.Budget) (err error) {
	d.command, err = capability.Process{Command: s.Command, Dir: s.Dir}.Locate()
	if errors.Is(err, fs.ErrNotExist) {
		return &hosterr.Error{Kind: ErrUnreachable, Err: err}
	}
	if err != nil {
		return err
	}
	d.add("command", d.command)
	if real, err := filepath.EvalSymlinks(d.command); err == nil && real != d.command {
		d.add("which is", real)
	}
	d.list("arguments", s.Args...)
	d.add("folder", s.Dir)
	d.list("environment", slices.Sorted(maps.Keys(s.Env))...)
	d.hidden("environment", s.Env)
	pins, err := b.Pins(s.Project.Folder, s.Dir, d.command, argsOf(s, os.LookupEnv))
	if err != nil {
		return err
	}
	d.warnings = append(trust.Warnings(d.command, argsOf(s, unset), pins), trust.LoaderWarnings(s.Env)...)
	d.pin(pins)
	return nil
}

// argsOf returns the arguments as the command will get them, if lookup is
// [os.LookupEnv]: what a default or a variable leads to is what runs. One with a
// variable that is not set stays as it is, and the entry cannot be used. None of it
// is shown but the names of the project's own files.
func argsOf(s Server, lookup func(string) (string, bool)) []string {
	args := slices.Clone(s.Args)
	for i, arg := range args {
		one := Server{Name: s.Name, Args: []string{arg}}
		if out, err := one.Release(one.Variables(), lookup); err == nil {
			args[i] = out.Args[0]
		}
	}
	return args
}

// unset is an environment without variables: defaults are used.
func unset(string) (string, bool) { return "", false }

// pin adds what is in the project's own files that the command names.
func (d *description) pin(pins []trust.Pin) {
	if len(pins) == 0 {
		return
	}
	var names []string
	contents := make(map[string]string)
	for _, p := range pins {
		names = append(names, p.Path)
		contents[p.Path] = p.Is
	}
	d.list("files", names...)
	d.hidden("contents of", contents)
	d.warn("of the project's own files, those named here are compared each time; what they load is not")
}

// signIn describes how the server would be signed in to: what it may ask for, and
// as which client, is no secret.
func (d *description) signIn(a config.Auth) {
	secret := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(a.Settings)) {
		switch value := a.Settings[key].(type) {
		case string:
			if key == "client_id" {
				d.add("sign-in client_id", value)
				continue
			}
		case []string:
			if key == "scopes" {
				d.list("sign-in scopes", value...)
				continue
			}
		}
		secret[key] = fmt.Sprintf("%q", a.Settings[key]) // maps are printed sorted
	}
	d.hidden("sign-in", secret)
}

// remote describes what would be reached.
func (d *description) remote(s Server) {
	d.add("url", s.URL)
	d.add("strategy", s.Strategy)
	d.list("headers", slices.Sorted(maps.Keys(s.Headers))...)
	d.hidden("header", s.Headers)
	if scheme, _, _ := strings.Cut(s.URL, ":"); scheme == "http" || scheme == "ws" {
		d.warn("%s is not encrypted: who is on the way reads and changes what is sent", scheme)
	}
	if names := s.Variables(); len(names) > 0 {
		d.warn("the values of %s are sent there", someOf(names))
	}
}

// someOf names the first of many.
func someOf(names []string) string {
	const few = 10
	if more := len(names) - few; more > 0 {
		return fmt.Sprintf("%s and %d more variables", strings.Join(names[:few], ", "), more)
	}
	return strings.Join(names, ", ")
}

// grantOf says in a line what an approval allows.
func grantOf(s Server) string {
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

// optionsOf are the remaining choices of an entry, as they would be written. How
// long a request may take is none of them: the user's own --timeout stands in the
// same place, and it grants nothing.
func optionsOf(s Server) (options []string) {
	for _, o := range []struct{ name, value string }{
		{"protocol", s.Protocol}, {"framing", s.Framing},
	} {
		if o.value != "" {
			options = append(options, o.name+"="+o.value)
		}
	}
	return options
}
