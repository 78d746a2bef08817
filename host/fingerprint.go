package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Fingerprint returns a hash of all that decides how a program with the working folder folder would
// start or reach a server: the entry, its variables, its sign-in and its secrets in a vault, which may be nil, its secrets in
// files, and the environment that a command inherits. So a program may use a server that another program has started if
// both have the same fingerprint for it. A secret of the vault counts as another one each time that it is stored, and a
// sign-in each time that the person signs in or out.
// It returns an error if variables are missing, or if an entry of no project names a file or a folder
// by a path that counts from the working folder. The hash must stay with the user: it is made of secrets too.
func Fingerprint(s Server, folder string, v *vault.Vault) (string, error) {
	expanded, err := s.Expand(os.LookupEnv)
	if err != nil {
		return "", err
	}
	if s.Project != nil { // it runs in the folder of the project
		folder = ""
	} else if path := relativePath(&expanded); path != "" {
		return "", fmt.Errorf("%s counts from the working folder", path)
	}
	if expanded.Command == "" || filepath.IsAbs(expanded.Dir) {
		folder = ""
	}
	var variables []string
	used := s.Variables()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.Contains(used, name) || decides(name) {
			variables = append(variables, v)
		}
	}
	slices.Sort(variables)
	text, err := json.Marshal([]any{s, expanded, folder, variables, versions(&expanded, v)})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// versions says which versions of its file of variables, of its sign-in, and of the secrets and files that it refers to,
// an entry reads.
func versions(s *Server, v *vault.Vault) (all []string) {
	if s.EnvFile != "" {
		all = append(all, versionOf(s.EnvPath()))
	}
	if v != nil && s.Auth.Provider != config.AuthNone && (s.URL != "" || s.Auth.Provider != "") {
		version, err := v.SignInVersion(connect.SignInName(*s))
		all = append(all, fmt.Sprint(version, err))
	}
	for _, r := range s.References() {
		switch {
		case r.File != "":
			all = append(all, versionOf(r.File))
		case r.Secret != "" && v != nil:
			version, err := v.SecretVersion(r.Secret)
			all = append(all, fmt.Sprint(version, err))
		}
	}
	return all
}

// versionOf says which version of a file there is.
func versionOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.Size(), info.ModTime().UnixNano())
}

// decides reports whether a variable may change what a server does, or what the host does with it.
// TERM does not: a server has no terminal.
func decides(name string) bool {
	upper := strings.ToUpper(name)
	return process.Inherits(name) && upper != "TERM" || strings.HasPrefix(upper, "XDG_") || strings.HasPrefix(upper, "WHARF_") ||
		slices.Contains([]string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"}, upper)
}

// relativePath returns a path of an expanded entry that counts from the working folder, or "".
func relativePath(s *Server) string {
	paths := []string{s.TLS.CA, s.TLS.Cert, s.TLS.Key, strings.TrimPrefix(s.Address, "unix:")}
	if !strings.HasPrefix(s.Address, "unix:") {
		paths[3] = ""
	}
	if filepath.Base(s.Command) != s.Command {
		paths = append(paths, s.Command)
	}
	if !filepath.IsAbs(s.Dir) {
		paths = append(paths, s.Dir, s.EnvFile)
	}
	for _, r := range s.Secrets() {
		paths = append(paths, r.File)
	}
	for _, setting := range s.Auth.Settings {
		if r, ok := setting.(config.Reference); ok {
			paths = append(paths, r.File)
		}
	}
	for _, path := range paths {
		if path != "" && !filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}
