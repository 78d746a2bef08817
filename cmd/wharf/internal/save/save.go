// Package save writes what servers send as bytes into a folder: images, audio and the
// contents of resources. The names are made from the server's words, and lead nowhere else.
package save

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Folder is where files are saved. It is made when the first of them is. It replaces no
// file: one whose name is taken gets a number.
type Folder struct{ Dir string }

// Check returns an error if no file could be saved: the path of the folder leads through a file, or
// nothing can be made in what is there of it. It leaves nothing behind.
func (f *Folder) Check() error {
	for dir := filepath.Clean(f.Dir); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && info.IsDir():
			trial, err := os.MkdirTemp(dir, ".wharf-*")
			if err != nil {
				return fmt.Errorf("nothing can be made in %s: %w", dir, err)
			}
			return os.Remove(trial)
		case err == nil:
			return fmt.Errorf("%s is a file, not a folder", dir)
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) || dir == filepath.Dir(dir):
			return err
		}
		if _, err := os.Lstat(dir); err == nil {
			return fmt.Errorf("%s is a link to what is not there", dir)
		}
	}
}

// extensions are of the kinds that servers send most. A file of another kind gets the
// extension of its name, or .bin.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg", "image/bmp": ".bmp",
	"audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
	"application/pdf": ".pdf", "application/json": ".json", "application/zip": ".zip", "application/gzip": ".gz", "text/plain": ".txt",
	"text/html": ".html", "text/csv": ".csv", "video/mp4": ".mp4",
}

const (
	longestName = 80   // letters of a name, without its extension and number
	mostNumbers = 9999 // files of one name
)

// Save decodes base64 into a new file, and returns its path. The name is what the server
// calls it: a word or a URI. A file that is not complete is removed.
func (f *Folder) Save(name, kind, data string) (saved string, err error) {
	if err := os.MkdirAll(f.Dir, 0o777); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	base, extension := fileName(name, kind)
	file, err := create(root, base, extension)
	if err != nil {
		return "", fmt.Errorf("save to %s: %w", f.Dir, err)
	}
	saved = filepath.Join(f.Dir, filepath.Base(file.Name()))
	_, err = io.Copy(file, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err = errors.Join(err, file.Close()); err != nil {
		what := saved
		if isNoBase64(err) { // its file is gone, and another may have got that name
			what, err = cleantext.Line(name, longestName)+" to "+f.Dir, fmt.Errorf("the server's data are no base64: %w", err)
		}
		err = &writeError{fmt.Errorf("save %s: %w", what, err)}
		return "", errors.Join(err, root.Remove(filepath.Base(saved)))
	}
	return saved, nil
}

// writeError is the error of a file that was begun: the server's data are no base64, or there is no
// room for them.
type writeError struct{ error }

func (e *writeError) Unwrap() error { return e.error }

// ExitKind implements [exit.Kinder].
func (e *writeError) ExitKind() exit.Kind {
	if isNoBase64(e.error) {
		return exit.Kind{Code: exit.CodeServer, Name: "protocol"}
	}
	return exit.Kind{Code: exit.CodeInternal, Name: "output"}
}

func isNoBase64(err error) bool {
	return errors.As(err, new(base64.CorruptInputError)) || errors.Is(err, io.ErrUnexpectedEOF)
}

// create makes a file whose name is not taken.
func create(root *os.Root, base, extension string) (*os.File, error) {
	name := base + extension
	for n := 2; ; n++ {
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if !errors.Is(err, fs.ErrExist) || n > mostNumbers {
			return file, err
		}
		name = fmt.Sprintf("%s-%d%s", base, n, extension)
	}
}

// fileName returns a name that every system takes: letters of ASCII, digits, "-", "_" and
// ".", with a letter or a digit first.
func fileName(name, kind string) (base, extension string) {
	isURI := strings.Contains(name, "://")
	if i := strings.IndexAny(name, "?#"); i >= 0 && isURI {
		name = name[:i]
	}
	if decoded, err := url.PathUnescape(name); err == nil && isURI {
		name = decoded
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '-'
	}, name)
	own := path.Ext(name)
	base = strings.Trim(strings.TrimSuffix(name, own), "-_.")
	if len(base) > longestName {
		base = base[:longestName]
	}
	if base == "" || reserved(base) {
		base = "file" + strings.TrimSuffix("-"+base, "-")
	}
	kind, _, _ = strings.Cut(strings.ToLower(kind), ";")
	switch known := extensions[strings.TrimSpace(kind)]; {
	case known != "":
		return base, known
	case len(own) > 1 && len(own) <= 10:
		return base, own
	}
	return base, ".bin"
}

// reserved reports whether Windows takes a name for a device, whatever its extension.
func reserved(base string) bool {
	first, _, _ := strings.Cut(strings.ToLower(base), ".")
	return slices.Contains([]string{"con", "prn", "aux", "nul"}, first) ||
		len(first) == 4 && (strings.HasPrefix(first, "com") || strings.HasPrefix(first, "lpt"))
}
