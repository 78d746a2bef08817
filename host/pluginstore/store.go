package pluginstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/securedir"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Config says where installed plugins are, and how new ones are inspected.
type Config struct {
	Dir   string // of the lockfile
	Files string // of the plugins

	// Reserved are the names of the plugins that are compiled into the program. No
	// other plugin may have them.
	Reserved []string

	// Extras are the plugins that [Request] may name as [ExtraScheme] and a name.
	Extras []Extra

	// VaultDir is the vault of the host; "" is no vault. Removing a plugin removes its records
	// there.
	VaultDir string

	// Inspector is needed by [Store.Offer] and [Store.Update] only.
	Inspector Inspector
}

// Inspector inspects a module that is not trusted, and has it describe itself. A host is one. A
// module that would be refused is no error: the findings of its Info say why. source is where
// the module comes from, for errors.
type Inspector interface {
	Inspect(ctx context.Context, source string, module []byte) (*Info, error)
}

// Store holds the plugins that a user installed. Its methods may be called at any time from any
// goroutine, also in several processes. It holds nothing open between two calls.
type Store struct {
	config     Config
	dir, files *securedir.Folder
}

// Open returns the store of a configuration. It does not touch the disk: the folders are made
// when the first plugin is installed.
func Open(c Config) *Store { return &Store{c, securedir.In(c.Dir), securedir.In(c.Files)} }

// DefaultDirs returns the folder of the user's configuration for the lockfile, and the
// folder of their data for the plugin files.
func DefaultDirs() (dir, files string, err error) {
	if dir, err = os.UserConfigDir(); err != nil {
		return "", "", err
	}
	data, err := dataDir(dir)
	return filepath.Join(dir, "wharf", "plugins"), filepath.Join(data, "wharf", "plugins"), err
}

// dataDir returns the folder in which programs of the user keep their data. On most systems that
// is the folder of their configuration.
func dataDir(config string) (string, error) {
	switch runtime.GOOS {
	case "windows":
		return os.UserCacheDir() // the data that stays on this machine
	case "darwin", "ios", "plan9":
		return config, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share"), err
}

// MaxSize is how large a plugin file may be, in bytes.
const MaxSize = plugin.MaxSize

// Lockfile returns the path of the lockfile, which need not exist.
func (s *Store) Lockfile() string { return s.dir.Path(lockName) }

// Path returns the file of a plugin.
func (s *Store) Path(p Installed) string { return s.files.Path(p.SHA256 + suffix) }

// Find returns the plugin of that name. The error is an ErrConfig if there is none.
func (s *Store) Find(name string) (Installed, error) {
	all, err := s.List()
	if err != nil {
		return Installed{}, err
	}
	i := index(all, name)
	if i < 0 {
		return Installed{}, missing(name)
	}
	return all[i], nil
}

// Files returns the installed plugins as a host takes them: pinned by hash, and bounded by their
// grants. It leaves out those of [Store.Outranked].
func (s *Store) Files() (map[string]config.Plugin, error) {
	installed, err := s.List()
	files := make(map[string]config.Plugin, len(installed))
	for _, p := range installed {
		if s.outranked(p) {
			continue
		}
		f := config.Plugin{Name: p.Name, File: s.Path(p), SHA256: p.SHA256, Installed: installation(p)}
		if p.Kind == Transport {
			f.Installed.Kinds = slices.Clone(p.Granted)
		} else {
			f.Discover = p.Grants(Discover)
			f.Origins = slices.DeleteFunc(slices.Clone(p.Granted), func(access string) bool { return access == Discover })
		}
		files[p.Name] = f
	}
	return files, err
}

func installation(p Installed) *config.Installed {
	return &config.Installed{Asked: p.Asked, Records: p.Records}
}

// Outranked returns the installed plugins that are not used, because a plugin of the program has
// the same name. A later version of the program may bring such a plugin.
func (s *Store) Outranked() ([]Installed, error) {
	installed, err := s.List()
	return slices.DeleteFunc(installed, func(p Installed) bool { return !s.outranked(p) }), err
}

func (s *Store) outranked(p Installed) bool { return slices.Contains(s.config.Reserved, p.Name) }

// Verify reads the file of a plugin again. It compares the file with the lockfile, and with the
// signature if there is one. A difference is an ErrDenied.
func (s *Store) Verify(p Installed) error {
	err := s.verify(p)
	if err == nil {
		return nil
	}
	if !errors.As(err, new(*plugin.HashError)) { // a HashError names the plugin
		err = fmt.Errorf("plugin %s: %w", p.Name, err)
	}
	return &hosterr.Error{Kind: hosterr.ErrDenied, Err: err, Hint: plugin.RestoreHint(p.Name)}
}

// CheckFile returns an error if the file of a plugin would not be loaded: it is missing or too large, is no regular
// file, or has not the hash that the plugin must have.
func CheckFile(p config.Plugin) error {
	_, err := plugin.File{Name: p.Name, Path: p.File, SHA256: p.SHA256}.Read()
	return err
}

// Grant gives a plugin accesses, or takes them away if give is false. Giving an access that the
// plugin does not ask for is an ErrConfig and changes nothing, because the plugin could not use
// it.
func (s *Store) Grant(ctx context.Context, name string, give bool, accesses ...string) (p Installed, err error) {
	err = s.editGrants(ctx, name, func(e Installed) ([]string, error) {
		for _, access := range accesses {
			if err := checkAccess(e.Kind, access); err != nil {
				return nil, hosterr.Configf("plugin %s: %w", name, err)
			}
			if err := askedFor(e, access); give && err != nil {
				return nil, err
			}
		}
		kept := slices.DeleteFunc(e.Granted, func(access string) bool { return slices.Contains(accesses, access) })
		if give {
			kept = append(kept, accesses...)
		}
		p = e
		p.Granted = sorted(kept)
		return kept, nil
	})
	return p, err
}

// Remove forgets a plugin, and deletes its files and its records in the vault. The plugin no
// longer counts as a reason to trust its publisher's key. If the vault cannot be changed, Remove
// returns that error, but the plugin is removed all the same: no other plugin gets its records,
// which are bound to this installation.
func (s *Store) Remove(ctx context.Context, name string) error {
	p, err := s.Find(name)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, name); err != nil {
		return err
	}
	if p.Kind != Provider || s.config.VaultDir == "" || p.Records == "" && s.outranked(p) {
		return nil // records of its name belong to the plugin that is part of the program
	}
	if err := vault.Open(vault.Config{Dir: s.config.VaultDir}).ForgetOwner(ctx, vault.Owner(name, p.Records)); err != nil {
		return fmt.Errorf("%s is removed, and what it has kept is not: %w", name, err)
	}
	return nil
}
