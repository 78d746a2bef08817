package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/registry"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// inputs collects the answers to the inputs of a registry's server, which becomes the entry of the
// name in entry.
type inputs struct {
	entry   string
	answers registry.Answers
	secrets map[string]string // what the vault gets, by the names with which the answers refer to it
	unset   []string          // variables that the entry takes from the environment
	flags   []string          // of each of them, the --set that gives its value now; "" for a secret, which a shell would remember
}

func newInputs(entry string) *inputs {
	return &inputs{entry: entry, answers: make(registry.Answers), secrets: make(map[string]string)}
}

// give takes an answer of the user. A secret goes to the vault as it was typed, unless the answer
// refers to one that is kept elsewhere.
func (n *inputs) give(in registry.Input, text string) error {
	if wrong := in.Check(text); wrong != "" {
		return fmt.Errorf("%s: %s", in.Of, wrong)
	}
	switch {
	case strings.TrimSpace(text) == "": // there is nothing to keep, and no path
	case in.IsSecret && !refers.MatchString(text):
		name := n.entry + "/" + notInNames.ReplaceAllString(in.ID, "_")
		n.secrets[name] = text
		text = "${secret:" + name + "}"
	case in.Format == "filepath":
		text = absolutePath(text)
	}
	n.answers[in.ID] = append(n.answers[in.ID], config.Escape(text, true))
	return nil
}

// unused says of which answers an entry has nothing, since the person gives or has changed the part that they are for,
// and drops the secrets among them. The end of each caution is of the caller.
func (n *inputs) unused(wanted []registry.Input, s host.Server, end string) (cautions []string) {
	texts := slices.Concat(s.Args, []string{s.URL}, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	for _, in := range wanted {
		answer := strings.Join(n.answers[in.ID], "")
		taken := slices.ContainsFunc(n.answers[in.ID], func(text string) bool {
			return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, text) })
		})
		if answer != "" && !in.Flag && !taken {
			cautions = append(cautions, "nothing takes the answer to "+in.Of+end)
		}
	}
	maps.DeleteFunc(n.secrets, func(name, _ string) bool { return !s.MeansSecret(name) })
	return cautions
}

var (
	notInNames     = lazyregexp.New(`[^A-Za-z0-9_.@-]`)
	notInVariables = lazyregexp.New(`[^A-Za-z0-9_]`)
	refers         = lazyregexp.New(`^(?:[A-Za-z]+ )?\$\{[A-Za-z_][A-Za-z0-9_]*(?::-(?:[^{}]*|\$\{[^{}]*\}))?\}$|\$\{(?:env|secret|file):[^{}]+\}`)
	ofSessions     = lazyregexp.New(`^(_|PATH|PATHEXT|HOME|HOMEDRIVE|HOMEPATH|USER|USERNAME|USERPROFILE|LOGNAME|HOSTNAME|COMPUTERNAME|SHELL|COMSPEC|LANG|LANGUAGE|LC_.*|TERM|TZ|PWD|OLDPWD|TMPDIR|TMP|TEMP|DISPLAY|EDITOR|VISUAL|PAGER|MAIL|OS)$`)
)

// absolutePath returns a path that means the same in every folder.
func absolutePath(path string) string {
	home, err := os.UserHomeDir()
	switch {
	case strings.HasPrefix(path, "$"):
		return path
	case (path == "~" || strings.HasPrefix(path, "~/")) && err == nil:
		return filepath.Join(home, path[1:])
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// later makes an input come from the environment whenever the server starts. One that only happens to be
// named like a variable of every session, such as the argument path, gets a variable with the name of the entry.
func (n *inputs) later(in registry.Input) {
	name := variableOf(in.ID)
	if ofSessions.MatchString(name) && in.Of != "the variable "+name {
		name = variableOf(n.entry + "_" + in.ID)
	}
	n.unset = append(n.unset, name)
	flag := ""
	if !in.IsSecret {
		flag = "--set " + plain.ShellWord(in.ID) + "=…"
	}
	n.flags = append(n.flags, flag)
	n.answers[in.ID] = []string{"${" + name + "}"}
}

// cautions says which variables the entry takes from the environment.
func (n *inputs) cautions() (cautions []string) {
	for i, name := range n.unset {
		text := fmt.Sprintf("it needs the variable %s in the environment, whenever it starts", name)
		if n.flags[i] != "" {
			text += "; " + n.flags[i] + " gives it now"
		}
		cautions = append(cautions, text)
	}
	return cautions
}

// variableOf returns the name of a variable that is made of other words.
func variableOf(words string) string {
	name := strings.ToUpper(notInVariables.ReplaceAllString(words, "_"))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// completeInputs asks for required inputs that have no answer yet. If it cannot ask, the answers
// come from the environment whenever the server starts.
func (a *app) completeInputs(ctx context.Context, n *inputs, wanted []registry.Input, mayAsk bool) error {
	var missing []registry.Input
	for _, in := range wanted {
		if in.IsRequired && len(n.answers[in.ID]) == 0 && (mayAsk || in.Default == "") {
			missing = append(missing, in)
		}
	}
	if !mayAsk {
		for _, in := range missing {
			n.later(in)
		}
		return nil
	}
	ctx, leave, err := a.Dialog(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for i, in := range missing {
		if err := a.askInput(ctx, n, in, i+1, len(missing)); err != nil {
			return err
		}
	}
	return nil
}

// askInput asks the person for one input, and asks again until the answer is valid. For a repeated
// input it asks until the person leaves the line empty.
func (a *app) askInput(ctx context.Context, n *inputs, in registry.Input, number, of int) error {
	above := "\n" + a.Own("%d/%d: %s is needed.", number, of, cleantext.Visible(in.Of))
	for _, text := range []string{in.Description, in.Placeholder, strings.Join(in.Choices, ", ")} {
		if text != "" {
			above += a.Quote(text, term.OfMessage, "")
		}
	}
	empty := "on an empty line it is taken from the environment when the server starts"
	switch {
	case in.Default != "":
		empty = "on an empty line it is " + cleantext.Word(in.Default)
	case in.IsSecret:
		empty = "it is kept in the vault; " + empty
	case in.Repeated:
		empty = "you are asked for more until you leave the line empty"
	}
	fmt.Fprint(a.Err, above, a.StyleErr(term.Dim, a.Own("Enter takes the line; %s.", empty)))
	for {
		text, err := a.Ask(ctx, term.Question{Prompt: "> ", Secret: in.IsSecret})
		switch {
		case errors.Is(err, term.ErrDeclined), errors.Is(err, term.ErrCancelled):
			return fmt.Errorf("nothing was changed: %w", host.ErrDenied)
		case err != nil:
			return err
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "" && (len(n.answers[in.ID]) > 0 || in.Default != ""):
			return nil
		case text == "":
			n.later(in)
			return nil
		}
		if err := n.give(in, text); err != nil {
			fmt.Fprint(a.Err, a.Own("%s.", cleantext.Visible(err.Error())))
		} else if !in.Repeated {
			return nil
		}
	}
}

// storeSecrets stores secrets in the vault by their names. It replaces no secret, since another entry may use that
// one; its error then has the hint. undo removes those that it has stored, but for those that an entry means: a
// command at the same time may have found them there, and have written its own.
func (a *app) storeSecrets(ctx context.Context, secrets map[string]string, hint string) (undo func(), err error) {
	if len(secrets) == 0 {
		return func() {}, nil
	}
	v, err := a.openVault()
	if err != nil {
		return nil, err
	}
	var stored []string
	undo = func() {
		if len(stored) == 0 {
			return
		}
		f, err := a.ownFile() // as it is now
		var entries []host.Server
		if err == nil {
			entries, err = a.keeping(f)
		}
		if err == nil {
			_, err = forgetUnused(context.WithoutCancel(ctx), v, stored, entries)
		}
		if err != nil {
			a.Warn("of the secrets %s some may stay in the vault: %v", strings.Join(stored, ", "), err)
		}
	}
	for _, name := range sortedNames(secrets) {
		old, found, err := v.LoadSecret(ctx, name)
		switch {
		case found && old != secrets[name]:
			err = exit.Usage(fmt.Errorf("there is another secret %s in the vault", name), hint, name)
		case err == nil && !found:
			err = v.StoreSecret(ctx, name, secrets[name])
			stored = append(stored, name)
		}
		if err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}

// forgetUnused removes the secrets that none of the entries means, and returns their names.
func forgetUnused(ctx context.Context, v *vault.Vault, names []string, entries []host.Server) (forgotten []string, err error) {
	for _, name := range names {
		if slices.ContainsFunc(entries, func(s host.Server) bool { return s.MeansSecret(name) }) {
			continue
		}
		if err := v.ForgetSecret(ctx, name); err != nil {
			return forgotten, err
		}
		forgotten = append(forgotten, name)
	}
	return forgotten, nil
}

// unknownInput is the error for an answer to an input that does not exist.
func unknownInput(name string, wanted []registry.Input) error {
	var known []string
	for _, in := range wanted {
		known = append(known, in.ID)
	}
	err := fmt.Errorf("%s is not an input of this server", cleantext.Word(name))
	if len(known) == 0 {
		return exit.Usage(err, "as it would be run, it has no inputs")
	}
	return exit.Usage(err, "its inputs are %s", cleantext.Words(known))
}
