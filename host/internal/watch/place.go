package watch

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links a path may lead through, as in most kernels.
const maxLinks = 40

// place is where a file is: the names whose change changes what the path leads to,
// each with the folder that holds it, and what is there now.
type place struct {
	names map[string]struct{} // whole paths
	info  os.FileInfo         // nil: there is no file
}

// find follows a path through its links. It ends at the file, or at the first name
// that is not there.
func find(path string) place {
	p := place{names: make(map[string]struct{})}
	at, rest := split(path)
	for links := 0; len(rest) > 0; {
		name := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(name)
		if err != nil {
			p.names[name] = struct{}{}
			return p
		}
		target, err := os.Readlink(name)
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			p.names[name] = struct{}{}
			if links++; links > maxLinks {
				return p
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(at, target)
			}
			var steps []string
			at, steps = split(target)
			rest = append(steps, rest...)
			continue
		}
		if at = name; len(rest) == 0 {
			p.names[name] = struct{}{}
			p.info = info
		}
	}
	return p
}

// split takes an absolute path apart: its root, and the names below that.
func split(path string) (root string, names []string) {
	path = filepath.Clean(path)
	root = filepath.VolumeName(path) + string(filepath.Separator)
	for name := range strings.SplitSeq(strings.TrimPrefix(path, root), string(filepath.Separator)) {
		if name != "" {
			names = append(names, name)
		}
	}
	return root, names
}

// changed reports whether the path leads to another file than before, or to one
// that was written to.
func changed(before, now os.FileInfo) bool {
	if before == nil || now == nil {
		return before != now
	}
	return !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime())
}
