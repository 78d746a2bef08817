package config

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Found is a file of another client on this machine.
type Found struct {
	ID     string // of the client, as [ClientIDs] has it
	Client string // its name, for people
	Path   string
	File   *File // nil where Err is not
	Err    error // why it cannot be read
}

// ClientIDs returns the sorted ids of the clients whose files FindClients can read.
func ClientIDs() (ids []string) {
	for _, c := range clients {
		if len(c.files) > 0 {
			ids = append(ids, c.id)
		}
	}
	return slices.Sorted(slices.Values(ids))
}

// FindClients reads the user's own files of the clients with these ids, or of all clients if no
// id is given. cwd is the folder that the calling program runs in. Files without servers are
// left out. Reading a file starts and trusts nothing: an embedder asks the user first.
//
// The user's own files have no workspace: an entry that refers to one is left out.
func FindClients(cwd string, ids ...string) (all []Found, err error) {
	for _, id := range ids {
		if !slices.Contains(ClientIDs(), id) {
			var near []string
			for _, known := range ClientIDs() {
				if strings.HasPrefix(known, id) {
					near = append(near, known)
				}
			}
			if meant := closest(id, ClientIDs()); len(near) == 0 && meant != "" {
				return nil, fmt.Errorf("no client %q is known; did you mean %q?", id, meant)
			}
			if len(near) == 0 {
				near = ClientIDs()
			}
			return nil, fmt.Errorf("no client %q is known; there are %s", id, strings.Join(near, ", "))
		}
	}
	for c, path := range clientFiles(ids, false) {
		if found, ok := find(c, path, cwd); ok {
			all = append(all, found)
		}
	}
	return all, nil
}

// ClientFiles returns the paths at which FindClients looks for the files of the clients with these
// ids, or of all clients if no id is given.
func ClientFiles(ids ...string) (paths []string) {
	for _, path := range clientFiles(ids, true) {
		paths = append(paths, path)
	}
	return paths
}

// clientFiles yields each path on this machine at which a client may have a file, each path once,
// with its client. Of a path with "*" that leads to none, it yields that itself if patterns is set.
func clientFiles(ids []string, patterns bool) iter.Seq2[*client, string] {
	return func(yield func(*client, string) bool) {
		seen := make(map[string]bool)
		for i := range clients {
			c := &clients[i]
			if len(ids) > 0 && !slices.Contains(ids, c.id) {
				continue
			}
			for _, file := range c.files {
				paths := placesOf(file, runtime.GOOS)
				if pattern, ok := expandPlace(file, runtime.GOOS); ok && patterns && len(paths) == 0 {
					paths = []string{pattern}
				}
				for _, path := range paths {
					if seen[path] {
						continue
					}
					seen[path] = true
					if !yield(c, path) {
						return
					}
				}
			}
		}
	}
}

// find reads the file at a path. there is false if there is no file, or if the file has no servers.
func find(c *client, path, cwd string) (f Found, there bool) {
	f = Found{ID: c.id, Client: c.name, Path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, false
	case err == nil && info.Size() == 0 && (info.Mode().IsRegular() || info.Mode()&fs.ModeCharDevice != 0): // or a link to /dev/null
		return f, false
	case err == nil && !info.Mode().IsRegular():
		err = &Error{File: path, Problem: "is no regular file"}
	}
	var data []byte
	if err == nil {
		data, err = readFile(path)
	}
	if err == nil {
		f.File, err = parse(path, data, place{folder: filepath.Dir(path), isUser: true, cwd: cwd, denied: denialsFor(path, cwd)})
	}
	var wrong *Error
	if errors.As(err, &wrong) && wrong.noServers {
		return f, false
	}
	f.Err = err
	return f, true
}

// placesOf returns the paths that file, one of [client].files, has on a system. With "*" in it they are those that
// are there.
func placesOf(file, system string) (paths []string) {
	path, ok := expandPlace(file, system)
	switch {
	case !ok:
		return nil
	case !strings.Contains(file, "*"):
		return []string{path}
	}
	star := strings.LastIndex(path, "*")
	end, below, _ := strings.Cut(filepath.ToSlash(path[star+1:]), "/")
	names, _ := os.ReadDir(path[:star]) // a folder that is missing has no files
	for _, d := range names {
		at := filepath.Join(path[:star], d.Name(), filepath.FromSlash(below))
		_, err := os.Stat(at)
		if strings.HasSuffix(d.Name(), end) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			paths = append(paths, at)
		}
	}
	return paths
}

// expandPlace returns the path that file, one of [client].files, has on a system. ok is false if
// file is for another system, or is no absolute path there.
func expandPlace(file, system string) (path string, ok bool) {
	if only, rest, limited := strings.Cut(file, ":"); limited {
		if only != system {
			return "", false
		}
		file = rest
	}
	folder, err := "", error(nil)
	if rest, home := strings.CutPrefix(file, "~"); home {
		folder, err = os.UserHomeDir()
		file = rest
	} else if rest, config := strings.CutPrefix(file, "{config}"); config {
		folder, err = os.UserConfigDir()
		file = rest
	} else if rest, xdg := strings.CutPrefix(file, "{xdg}"); xdg {
		folder, err = xdgConfigDir()
		file = rest
	} else if rest, variable := strings.CutPrefix(file, "$"); variable {
		name, below, _ := strings.Cut(rest, "/")
		folder, file = os.Getenv(name), below
	}
	path = filepath.Join(folder, filepath.FromSlash(file))
	return path, err == nil && filepath.IsAbs(path)
}

// xdgConfigDir returns the folder for configuration of a program that follows the XDG Base Directory
// Specification, also on a system whose own folder is another. A relative path in the variable does not count.
func xdgConfigDir() (string, error) {
	if folder := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return folder, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".config"), err
}
