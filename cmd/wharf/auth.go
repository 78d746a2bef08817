package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/files"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config/inventory"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
)

func newAuth(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Look after sign-ins and secrets",
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(newAuthStatus(a), newAuthSecret(a))
	return cmd
}

func newAuthStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "status",
		Short:             "List what is saved of sign-ins, the names of your secrets, and where they are",
		Args:              exactly(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := a.vault()
			if err != nil {
				return err
			}
			return a.runAuthStatus(cmd.Context(), v)
		},
	}
}

func (a *app) runAuthStatus(ctx context.Context, v *vault.Vault) error {
	s, err := a.load()
	if err != nil {
		return err
	}
	saved, err := inventory.SignedIn(ctx, v, s.shown())
	if err != nil {
		return err
	}
	if !a.forPeople() {
		return a.PrintJSON(saved)
	}
	a.Tell(term.Bold, "vault:", vaultLine(v.Status()), "")
	rows := plain.Table{{"PROVIDER", "RECORD", "SINCE", "SERVER OR ISSUER"}}
	for _, l := range saved.Logins {
		where := cmp.Or(l.Resource, l.Issuer, l.Client)
		if l.Client != "" && where != l.Client {
			where += " (" + l.Client + ")" // entries of one url may have a sign-in each
		}
		rows = append(rows, []string{plain.Line(l.Provider), plain.Line(l.Record), l.Stored.Local().Format(time.DateTime), plain.Line(where)})
	}
	for _, s := range saved.Secrets {
		rows = append(rows, []string{"", "${secret:" + plain.Line(s.Name) + "}", "", plain.Line(cmp.Or(strings.Join(s.Servers, ", "), "no server uses it"))})
	}
	if len(rows) == 1 {
		a.none("it holds no sign-ins and no secrets")
	}
	return a.printTable(rows)
}

// vaultLine says where secrets are kept, and what protects them.
func vaultLine(s vault.Status) string {
	text := s.Path
	switch s.KeySource {
	case vault.KeyInKeyring:
		text += ", its key in the keyring of the system"
	case vault.KeyInFile:
		text += ", its key in a file beside it: there is no keyring here"
	}
	if s.Problem != "" {
		text += "; " + s.Problem
	}
	return text
}

func newAuthSecret(a *app) *cobra.Command {
	forget := false
	cmd := &cobra.Command{
		Use:   "secret NAME",
		Short: "Keep a secret that entries mean by ${secret:NAME}",
		Long: `Keep a secret in the vault. An entry of your configuration means it by
${secret:NAME}, so that it need not stand in the file:

  env = { GITHUB_TOKEN = "${secret:github}" }

In an auth table, { secret = "NAME" } means the same:

  auth = { provider = "bearer", token = { secret = "tracker" } }

The secret registry:HOST is the token for the registry at HOST, if it wants one.

The secret is asked for, or is all of stdin: a key may have several lines. Blanks and
line breaks around it are not part of it.`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.vault()
			if err != nil {
				return err
			}
			if forget {
				return a.forgetSecret(cmd.Context(), v, args[0])
			}
			ofRegistry := strings.HasPrefix(args[0], "registry:") // no entry means it
			if !ofRegistry && !(host.Server{Command: "${secret:" + args[0] + "}"}).MeansSecret(args[0]) {
				return exit.Usage(fmt.Errorf("no entry can mean a secret that is called %q", args[0]), "write letters, digits, '_', '.', '@', '/' and '-'")
			}
			text, err := a.secret(cmd.Context(), args[0])
			if errors.Is(err, signin.ErrDeclined) || err == nil && text == "" {
				return exit.Usage(errors.New("the secret is empty"), "type it, or give it on stdin")
			}
			if err != nil {
				return err
			}
			if err := v.StoreSecret(cmd.Context(), args[0], text); err != nil {
				return err
			}
			if a.ErrTTY && !a.Quiet {
				fmt.Fprint(a.Err, a.Own("It is kept; an entry means it by ${secret:%s}.", args[0]))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "remove the secret")
	return cmd
}

// completeSecrets offers the names of the user's secrets.
func (a *app) completeSecrets(_ *cobra.Command, words []string, _ string) ([]string, cobra.ShellCompDirective) {
	v, err := a.vault()
	if err != nil || len(words) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := v.Secrets() // an error is reported when the command runs
	return offer(names)
}

// forgetSecret removes a secret. It is an error if no secret has that name: a misspelt name
// would leave the intended secret in place.
func (a *app) forgetSecret(ctx context.Context, v *vault.Vault, name string) error {
	names, err := v.Secrets()
	if err != nil {
		return err
	}
	if slices.Contains(names, name) {
		if err := v.ForgetSecret(ctx, name); err != nil {
			return err
		}
		if !a.Quiet {
			fmt.Fprint(a.Err, a.Own("The secret %s is forgotten.", name))
		}
		return nil
	}
	err = fmt.Errorf("there is no secret %q", name)
	if near := meant(name, names); near != "" {
		return exit.Usage(err, "did you mean %q?", near)
	}
	return exit.Usage(err, "`wharf auth status` lists the names")
}

// longestSecret bounds a secret that is read from stdin, in bytes.
const longestSecret = 1 << 20

// secret reads a secret: at a terminal it is the answer to a question, else all of stdin, because
// keys in PEM have several lines.
func (a *app) secret(ctx context.Context, name string) (string, error) {
	if a.InTTY {
		return a.askText(ctx, signin.Question{Secret: true, Label: "secret " + name})
	}
	text, err := files.ReadAll(ctx, a.In, longestSecret)
	return strings.TrimSpace(string(text)), err
}
