package watch

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links a path may have, as in most kernels.
const maxLinks = 40

// place describes where a path leads at a moment, and the names on the way that could lead it
// elsewhere if they changed.
type place struct {
	names map[string]struct{} // absolute paths
	info  os.FileInfo         // nil if there is no file
}

// find follows a path through its links, up to the file or the first name that is missing.
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

// split returns the root of an absolute path, and the names below it.
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

// differs reports whether a file was replaced or written to between two looks at it. Either look
// may have found no file.
func differs(before, now os.FileInfo) bool {
	if before == nil || now == nil {
		return before != now
	}
	return !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime())
}
