package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trust"
)

func newServers(a *app) *cobra.Command {
	var status, follow bool
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "List the servers of your configuration, and how it stands with them",
		Long: `List the servers of your configuration, and what each of them is reached by.
No server is started. Variables are shown by their names, and what looks like a
secret is not shown. On a terminal it also tells which file they come from.

With --status all enabled servers are started at once, looked at, and stopped
again: their state, era and revision of the protocol, transport, latency, how many
tools they have, and what is wrong. Nobody is asked anything: a server that needs
a sign-in or an approval says so. The exit code is 4 if one is not connected.

With --watch they are kept, and their states followed until it is interrupted: in
place on a terminal, else a JSON object for each change. When the configuration
changes, or on SIGHUP, servers are added, dropped and restarted one by one, and so
they are when the file of a plugin is replaced; what a server was asked before has
ten seconds to end. On a terminal a SIGHUP ends it: that is how one learns that its
terminal is closed.`,
		Example: "  wharf servers --status\n  wharf servers --watch",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if status || follow {
				return a.runStatus(cmd.Context(), follow)
			}
			return a.runServers()
		},
	}
	cmd.Flags().BoolVar(&status, "status", false, "start the servers and tell how it stands with them")
	cmd.Flags().BoolVar(&follow, "watch", false, "start the servers, keep them, and follow how it stands with them")
	return cmd
}

// entry is a server in the list.
type entry struct {
	Name      string `json:"name"`
	Transport string `json:"transport"`
	Target    string `json:"target"`
	Enabled   bool   `json:"enabled"`

	// Of a server that came with a project: the file, and whether it is approved.
	Project string      `json:"project,omitempty"`
	Trust   trust.State `json:"trust,omitempty"`
}

func (a *app) runServers() error {
	s, err := a.load()
	if err != nil {
		return err
	}
	entries, err := a.projectEntries()
	if err != nil {
		return err
	}
	a.warnOf(s)
	for i, server := range s.servers {
		e := entry{Name: server.Name, Transport: server.Via(), Target: targetOf(server), Enabled: !server.Disabled}
		entries = slices.Insert(entries, i, e)
	}
	if !a.forPeople() {
		return a.printJSON(entries)
	}
	fmt.Fprintln(a.err, a.styled(a.errTTY, styleBold, "configuration:"), plain.Text(s.place()))
	rows := plain.Table{{"SERVER", "TRANSPORT", "ENABLED", "TARGET"}}
	for _, e := range entries {
		enabled := "yes"
		if !e.Enabled {
			enabled = "no"
		}
		if e.Project != "" {
			enabled = "project, " + string(e.Trust)
		}
		rows = append(rows, []string{plain.Line(e.Name), plain.Line(e.Transport), enabled, plain.Line(e.Target)})
	}
	return a.printTable(rows)
}

// targetOf is what a server is reached by: its command line, url or address.
// Environment and headers, where secrets belong, are no part of it.
func targetOf(server host.Server) string {
	switch {
	case server.Command != "":
		return commandLine(server.Command, server.Args)
	case server.URL != "":
		return withoutSecrets(server.URL)
	}
	return server.Address
}

// hidden stands for what is not shown.
const hidden = "***"

// commandLine joins a command and its arguments, without the values of flags
// that are called like secrets: people put them there, though they should not.
func commandLine(command string, args []string) string {
	words := []string{word(command)}
	secret := false // the argument is the value of the flag before it
	for _, arg := range args {
		name, value, assigned := strings.Cut(arg, "=")
		switch {
		case secret && !strings.HasPrefix(arg, "-"):
			arg = mask(arg)
		case assigned && host.SecretFlag(name):
			arg = name + "=" + mask(value)
		}
		secret = !assigned && strings.HasPrefix(arg, "-") && host.SecretFlag(arg)
		words = append(words, word(arg))
	}
	return strings.Join(words, " ")
}

// mask hides a value, unless it is only the name of a variable.
func mask(value string) string {
	if strings.HasPrefix(value, "${") && strings.HasSuffix(value, "}") && !strings.Contains(value, ":-") {
		return value
	}
	return hidden
}

// word quotes an argument where it would not read as one.
func word(text string) string {
	if text == "" || strings.ContainsAny(text, " \t\n'\"") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// withoutSecrets hides the user and the password of a URL and the values of its
// query: which of them is a key, its name seldom tells. The URL may hold
// variables, so it is taken apart as text.
func withoutSecrets(url string) string {
	address, query, asked := strings.Cut(url, "?")
	scheme, rest, _ := strings.Cut(address, "://")
	authority, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		address = scheme + "://" + mask(authority[:at]) + authority[at:] + "/" + path
	}
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
