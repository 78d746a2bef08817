package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/editor"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
)

func newEdit(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "edit", Short: "Edit your configuration, and check what was written",
		Long: `Open your configuration, or the file of --config, in your editor: the command in
$VISUAL or $EDITOR, else vi, or notepad on Windows. When the editor ends, the file is
read. If it has mistakes, they are shown, and on a terminal you may edit it again, or
undo all of it.`,
		Args: exactly(), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runEdit(cmd.Context()) },
	}
}

func (a *app) runEdit(ctx context.Context) error {
	path, err := a.ownPath()
	if err != nil {
		return err
	}
	with, err := editor.Find(a.InTTY && a.OutTTY, plain.ShellWord(path))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for {
		if err := with.Edit(ctx, path); err != nil {
			return err
		}
		wrong := a.checkEdited(path)
		if wrong == nil || !a.CanAsk() {
			return wrong
		}
		a.report(ctx, wrong)
		answer, err := a.answerTo(ctx, term.Question{Prompt: "Edit it again? [y]es, [n]o, [u]ndo: ", Consent: true},
			"y", "yes", "n", "no", "u", "undo")
		switch {
		case err != nil:
			return err
		case answer == "u" || answer == "undo":
			return a.undoEdit(path, before)
		case answer != "y" && answer != "yes":
			return errMistakes
		}
	}
}

// undoEdit restores the content of a file from before its edit. If before is nil, the file did
// not exist and is removed.
func (a *app) undoEdit(path string, before []byte) error {
	undo := func() error { return os.WriteFile(path, before, 0o600) } // in place: a link stays one, and its mode stays
	if before == nil {
		undo = func() error { return os.Remove(path) }
	}
	if err := undo(); err != nil {
		return fmt.Errorf("undo the edit: %w", err)
	}
	fmt.Fprint(a.Err, a.Own("The configuration is as it was before."))
	return nil
}

// errMistakes is the error of an edit that the person ended with mistakes left in the file.
var errMistakes = exit.Usage(errors.New("the configuration stays as you wrote it, with its mistakes"), "`wharf edit` opens it again")

// checkEdited reads the edited file, and warns of the parts that Wharf does not use.
func (a *app) checkEdited(path string) error {
	f, err := config.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprint(a.Err, a.Own("Nothing was written."))
		return nil
	case err != nil:
		return exit.Configuration(fmt.Errorf("configuration: %w", err))
	}
	s := &settings{warnings: f.Warnings, notes: f.Notes}
	a.warnOf(s)
	a.noteOf(s)
	if s, err = a.load(); err != nil {
		return err
	}
	for _, server := range f.Servers {
		if problem := a.entryProblem(s, server); problem != "" && !server.Disabled {
			a.Warn("%s is not ready: %s", plain.Word(server.Name), cleantext.Visible(strings.ReplaceAll(problem, "\n", "; ")))
		}
	}
	a.Place(counted(len(f.Servers), "server")+" in", path)
	return nil
}
