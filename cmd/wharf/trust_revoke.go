package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/trust"
)

// runTrustRevoke removes decisions. It also works for a project that no longer exists: a
// path selects the decisions about it.
func (a *app) runTrustRevoke(ctx context.Context, t *trust.Store, args []string) error {
	word := args[0]
	here, err := filepath.Abs(".")
	if real, rerr := filepath.EvalSymlinks(here); rerr == nil {
		here = real
	}
	if err != nil {
		return err
	}
	isNamed := sameAs(word)
	n, err := t.Revoke(ctx, func(r trust.Record) bool {
		file := filepath.Join(r.Project, filepath.FromSlash(r.File))
		return r.Server == word && isBelow(here, r.Project) || isNamed(r.Project) || isNamed(file)
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return exit.Usage(fmt.Errorf("nothing was decided about %q", word), "`wharf trust list` shows what was; name a server of another project by the path of its file")
	}
	fmt.Fprintf(a.Err, "%d forgotten.\n", n)
	return nil
}

// isBelow reports whether a folder is another one or lies below it.
func isBelow(dir, above string) bool {
	name, err := filepath.Rel(above, dir)
	return err == nil && filepath.IsLocal(name)
}
