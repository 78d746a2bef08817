package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/wharf-mcp/wharf/host/policy"
)

// maxAccess is how many patterns and matches the tables of a file may have together.
const maxAccess = 10_000

// access reads the tables of who may call what. count is how many texts they have so far.
func (e *entry) access(name string, count *int) policy.Table {
	e.onlyKeys(accessKeys, "")
	e.checkName(name)
	t := policy.Table{Name: name, Match: e.list("match"), Allow: e.list("allow"), Deny: e.list("deny"), Place: e.doc.path}
	if line := e.lineOf(""); line > 0 {
		t.Place = fmt.Sprintf("%s:%d", e.doc.path, line)
	}
	if len(t.Match) == 0 && len(e.wrong) == 0 {
		e.fail("match", `names no caller; write match = ["client:NAME"], or "*" for all of them`)
	}
	if *count += len(t.Match) + len(t.Allow) + len(t.Deny); *count > maxAccess {
		e.fail("", "has a text too many: the tables of access may have %d together", maxAccess)
		return t
	}
	t.Check(func(key string, i int, err error) { e.fail(fmt.Sprintf("%s[%d]", key, i), "%v", err) })
	return t
}

// Audit says where a line is kept for each call, see package audit.
type Audit struct {
	File     string // absolute
	Full     bool   // arguments are kept too
	Required bool   // no call is made while a line cannot be written
}

// audit reads the table audit. It returns nil if there is none.
func (e *entry) audit() (a *Audit) {
	values := valueOf[map[string]any](e, "audit", "expected a table, not %s; write [audit]")
	if values == nil {
		return nil
	}
	e.within("audit", values, func(e *entry) {
		e.onlyKeys(auditKeys, "")
		a = &Audit{File: cmp.Or(e.text("file"), "audit.jsonl"), Full: e.oneOf("args", "hash", "full") == "full", Required: e.flag("required")}
		if !filepath.IsAbs(a.File) {
			a.File = filepath.Join(filepath.Dir(e.doc.path), a.File)
		}
		if whole, err := filepath.Abs(a.File); err == nil { // the file of the configuration may be named by a relative path
			a.File = whole
		}
	})
	return a
}

// DiscoverAccess returns the tables of who may call what in the project files of Wharf that concern a
// working folder, a list for each file. It reads them as [Discover] does, which warns of one that cannot be used. If
// there may be such tables in it, the error says what is wrong: to go on without them would allow what they deny.
func DiscoverAccess(dir string) (files [][]policy.Table, err error) {
	d := &Discovery{left: maxProjectBytes}
	dir, err = realFolder(dir)
	if err != nil {
		return nil, nil // as if there were no project
	}
	home, _ := os.UserHomeDir()
	var wrong []error
	for _, folder := range projectFolders(dir, home) {
		root, err := os.OpenRoot(folder)
		if err != nil {
			continue
		}
		path := filepath.Join(folder, ownProjectFile)
		if isOwn(path, home) {
			root.Close()
			continue
		}
		data, err := d.readWithin(root, ownProjectFile)
		root.Close()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", path, err))
			continue
		}
		f, err := parse(path, data, place{})
		switch {
		case err == nil && len(f.Access) > 0:
			files = append(files, f.Access)
		case err != nil && accessTable.Match(bytes.ReplaceAll(data, []byte{0}, nil)): // there are zeros in UTF-16
			wrong = append(wrong, err)
		}
	}
	return files, errors.Join(wrong...)
}

// AccessFiles returns the paths of the files that [DiscoverAccess] reads, whether they are there or not.
func AccessFiles(dir string) (paths []string) {
	dir, err := realFolder(dir)
	if err != nil {
		return nil
	}
	home, _ := os.UserHomeDir()
	for _, folder := range projectFolders(dir, home) {
		paths = append(paths, filepath.Join(folder, ownProjectFile))
	}
	return paths
}

// accessTable is where a table of access, or the key, begins in a file that may be no TOML.
var accessTable = regexp.MustCompile(`(?m)^[^\w\n#]*access\b`)
