package dial

import (
	"fmt"
	"path/filepath"
	"strings"
)

// maxSocketPath is the longest path, in bytes, that fits into a sockaddr_un on every system.
const maxSocketPath = 103

// CheckSocketPath returns an error for a path that a unix socket cannot have. The system's own
// error would say only that an argument is invalid.
func CheckSocketPath(path string) error {
	abstract := strings.HasPrefix(path, "@") && len(path) > 1
	switch {
	case path == "":
		return fmt.Errorf("the path of the socket is missing: want unix:/path/to/socket")
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("the path holds a NUL byte")
	case !abstract && !filepath.IsAbs(path):
		return fmt.Errorf("the path of a socket must be absolute: want unix:/path/to/socket")
	case len(path) > maxSocketPath:
		return fmt.Errorf("the path is %d bytes long, a socket's may have %d: use a shorter one", len(path), maxSocketPath)
	}
	return nil
}
