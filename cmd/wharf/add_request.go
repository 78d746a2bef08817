package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/amend"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

// addRequest holds what the user wants to add, by the flags of add.
type addRequest struct {
	name, registry, prefer string
	env, headers           []string // of -e and -H
	set                    []string
	replace, yes           bool
}

// free refuses a name that the file already has, unless the user wants that server replaced.
func (r *addRequest) free(f *tomledit.File, name string) error {
	if err := amend.Free(f, name); err != nil && !r.replace {
		return unfit(err)
	}
	return nil
}

// command returns the entry of a command line.
func (r *addRequest) command(argv []string) (*addition, error) {
	s, err := adHoc(argv)
	if err != nil {
		return nil, err
	}
	s.Name = r.named(commandName(argv))
	if len(r.headers)+len(r.set) > 0 {
		return nil, exit.Usage(errors.New("a command takes neither -H nor --set"), "-e NAME=VALUE gives it a variable")
	}
	if filepath.Base(s.Command) != s.Command { // a relative path in the file counts from the folder of the file
		if s.Command, err = wholePath(s.Command); err != nil {
			return nil, err
		}
	}
	whole, err := anywhere(s) // the server is there in every folder
	if err != nil {
		return nil, err
	}
	s.Args = whole[1:]
	s.Command = config.Escape(s.Command, false)
	for i, arg := range s.Args {
		s.Args[i] = config.Escape(arg, false)
	}
	s.Env, err = assigned(r.env, "=", "-e NAME=VALUE")
	for name, value := range s.Env {
		if value != "${"+name+"}" { // which -e NAME is
			s.Env[name] = config.Escape(value, false)
		}
	}
	return &addition{server: s, inputs: newInputs(s.Name), cautions: boundToFolder(whole)}, err
}

// url returns the entry of a url.
func (r *addRequest) url(address string) (*addition, error) {
	s := remote(address)
	s.Name = r.named(siteName(s.Name))
	if len(r.env)+len(r.set) > 0 {
		return nil, exit.Usage(errors.New("a url takes neither -e nor --set"), "-H 'NAME: VALUE' gives it a header")
	}
	u, err := url.Parse(address)
	switch {
	case strings.Contains(address, "${"): // it is complete when the server is reached
	case err != nil || u.Hostname() == "" && u.Scheme != "unix":
		return nil, exit.Usage(errors.New("the url has no host, or is none"), "write https://host/path") // without the url, which may have a password
	case u.User != nil:
		return nil, exit.Usage(errors.New("the url holds a password or a user"), "write it without them; -H 'Authorization: …' gives it credentials")
	}
	s.URL = config.Escape(s.URL, true)
	s.Headers, err = assigned(r.headers, ":", "-H 'NAME: VALUE'")
	escape(s.Headers)
	return &addition{server: s, inputs: newInputs(s.Name)}, err
}

// escape rewrites words that a person typed as values of the file. In those of headers and of a server of the
// registry ${NAME} is a variable: wharf sends a header itself, and nothing at the other end would replace it.
func escape(typed map[string]string) {
	for name, value := range typed {
		typed[name] = config.Escape(value, true)
	}
}

// named returns the name that the user gave, or else the one that was made.
func (r *addRequest) named(made string) string {
	if r.name != "" {
		return r.name
	}
	return entryName(made)
}

// siteName makes a name from a host: the first part that says who owns it. It keeps all parts of
// an IP address, and calls every loopback address "localhost".
func siteName(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Unmap().IsLoopback() {
			return "localhost"
		}
		return strings.NewReplacer(".", "-", ":", "-").Replace(host)
	}
	for part := range strings.SplitSeq(host, ".") {
		if !slices.Contains([]string{"www", "mcp", "api"}, part) {
			return part
		}
	}
	return host
}

// assigned reads words that are a name, the text between, and a value. If between is "=", a name
// alone refers to the variable of that name. Errors say to write form.
func assigned(words []string, between, form string) (map[string]string, error) {
	table := make(map[string]string)
	for _, w := range words {
		name, value, found := strings.Cut(w, between)
		name = strings.TrimSpace(name)
		switch {
		case name == "" || !found && between != "=":
			return nil, exit.Usage(fmt.Errorf("%q has the wrong form", w), "write %s", form)
		case between == ":" && config.OfProtocol(name):
			return nil, ofProtocol(name)
		case !found:
			value = "${" + name + "}"
		case between != "=":
			value = strings.TrimSpace(value)
		}
		table[name] = value
	}
	if len(table) == 0 {
		return nil, nil
	}
	return table, nil
}
