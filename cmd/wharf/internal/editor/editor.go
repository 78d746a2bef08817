// Package editor runs the editor of the person at the terminal.
package editor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/words"
)

// Editor is a command line, to which a path is added.
type Editor []string

// Find returns the editor that the environment names, or else a usual one, which is vi only if it has
// a terminal. path is the file to edit, as an error shows it.
func Find(terminal bool, path string) (Editor, error) {
	usual := "vi"
	if runtime.GOOS == "windows" {
		usual = "notepad"
	}
	command := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), usual)
	if command == "vi" && !terminal {
		return nil, exit.Usage(errors.New("there is no terminal to open vi in"), "edit %s yourself, or name an editor that needs no terminal in $EDITOR", path)
	}
	argv, err := words.Split(command)
	if err != nil || len(argv) == 0 {
		return nil, exit.Usage(fmt.Errorf("editor %q: expected a command", command), "$VISUAL and $EDITOR name the editor")
	}
	return argv, nil
}

// Edit opens a file, and returns when the editor has ended.
func (e Editor) Edit(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, e[0], append(e[1:len(e):len(e)], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return exit.Usage(fmt.Errorf("editor %s: %w", e[0], err), "$VISUAL and $EDITOR name the editor")
	}
	return nil
}
