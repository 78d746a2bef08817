package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
)

// pinOf returns a hash of the entry of a server as its project writes it, with the files that it names. It is the same
// wherever the project lies, and wherever its programs are installed. Only what a person names may be compared with
// it: what is stored is the hash of the entry.
func (a *Approval) pinOf(s config.Server) string {
	h := hasher{sha256.New()}
	h.texts("wharf pin 1", a.File, a.Server)
	for _, f := range a.Facts {
		values := f.Values
		switch inside := below(a.Project, values[0]) != ""; {
		case f.Hidden:
			values = []string{f.written}
		case f.Name == "command" && !inside:
			values = []string{s.Command}
		case f.Name == "which is" && !inside:
			continue
		case strings.HasPrefix(f.Name, "plugin "):
			values = values[1:] // without its file
		}
		h.texts(f.Name)
		h.count(len(values))
		for _, value := range values {
			pieces := cutAt(value, a.Project)
			h.count(len(pieces))
			h.texts(pieces...)
		}
	}
	return prefix + hex.EncodeToString(h.Sum(nil))
}

// cutAt cuts a text where a folder is named in it.
func cutAt(text, folder string) (pieces []string) {
	from := 0
	for at := 0; ; {
		i := strings.Index(text[at:], folder)
		if i < 0 {
			return append(pieces, text[from:])
		}
		i += at
		at = i + len(folder)
		begins := i == 0 || !inPath(text[i-1])
		ends := at == len(text) || text[at] == '/' || text[at] == '\\' || !inPath(text[at])
		if begins && ends {
			pieces = append(pieces, text[from:i])
			from = at
		}
	}
}

// inPath reports whether a byte can be part of the name of a file, or stands between two of them.
func inPath(b byte) bool {
	return b >= 0x80 || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte(`/\._-+~@%`, b) >= 0
}
