package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/paste"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
)

// printsConfig gives a command the flag --print-config, whose value is what printConfig wants.
func printsConfig(cmd *cobra.Command, client *string) {
	cmd.Flags().StringVar(client, "print-config", "", "print what to paste into the configuration of `CLIENT`: "+strings.Join(pasteClients(), ", "))
	cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(pasteClients(), cobra.ShellCompDirectiveNoFileComp))
}

func pasteClients() (ids []string) {
	for _, c := range paste.Clients {
		ids = append(ids, c.ID)
	}
	return ids
}

// pasteClient returns the client that --print-config names.
func pasteClient(id string) (*paste.Client, error) {
	at := slices.Index(pasteClients(), id)
	if at < 0 {
		return nil, exit.Usage(fmt.Errorf("--print-config %q: wharf knows no such client", id), "the clients are %s", strings.Join(pasteClients(), ", "))
	}
	return &paste.Clients[at], nil
}

// printConfig prints the lines for a client's configuration that make the client start this program
// with words as a server of that name. It warns of lacks, which the words do not have.
func (a *app) printConfig(id, name string, words, lacks []string) error {
	client, err := pasteClient(id)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("where this program is: %w", err)
	}
	text, err := client.Text(paste.Server{Name: name, Command: program, Args: words})
	if err != nil {
		return err
	}
	if !a.Quiet {
		a.Tell(term.Dim, client.Name+":", client.Where, "")
	}
	for _, lack := range lacks {
		a.Warn("%s", lack)
	}
	return a.Print(text)
}

// servesOwn reports whether an entry starts this program with servers of its own configuration, as the text of
// printConfig does.
func servesOwn(s host.Server) bool {
	self, _ := os.Executable()
	is := s.Command == self || strings.TrimSuffix(filepath.Base(s.Command), ".exe") == "wharf"
	isConfig := func(word string) bool { return strings.HasPrefix(word, "--config") }
	return is && (slices.Contains(s.Args, "serve") || slices.Contains(s.Args, "bridge")) && !slices.ContainsFunc(s.Args, isConfig)
}

// servesItself reports whether an entry of the configuration starts this program with that entry as a server. What is
// started reads the user's own file and those of the project, and none that --config names.
func (s *settings) servesItself(server host.Server) bool {
	own, err := config.UserPath()
	of := slices.Index(server.Args, "bridge") + 1
	return err == nil && (server.Project != nil || s.path == own) && servesOwn(server) && (of == 0 || slices.Contains(server.Args[of:], server.Name))
}
