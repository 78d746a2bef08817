package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/store"
)

// Installed is one plugin that a user installed, as the lock of the store has it.
type Installed = store.Entry

// The kinds of plugins.
const (
	KindTransport = store.Transport
	KindProvider  = store.Provider
)

// DiscoverAccess is the access of an auth provider to every public https origin
// that it learns of.
const DiscoverAccess = store.Discover

// StoreConfig says where installed plugins are, and how new ones are looked at.
type StoreConfig struct {
	Dir   string // of the lock
	Files string // of the plugins

	// CacheDir is that of [Config]: what is installed is in it, compiled.
	CacheDir string

	// Reserved are the names of the plugins that are compiled into the program,
	// which no other may have.
	Reserved []string

	// Trial is the beginning of a command that passes the rest of its arguments
	// to [RunTrial]: a plugin that nobody has seen yet is compiled in a process of
	// its own, which has limits and is killed at a deadline. Without it that is
	// done here, where nothing stops it.
	Trial []string
}

// Store is the plugins that a user installed. Its methods may be called at any
// time from any goroutine, also in several processes.
type Store struct {
	config   StoreConfig
	store    *store.Store
	patience time.Duration // with a trial
}

// OpenStore returns the store of a configuration. It touches nothing.
func OpenStore(c StoreConfig) *Store { return &Store{c, store.Open(c.Dir, c.Files), trialTime} }

// DefaultStoreDirs returns the folder of the user's configuration that has the
// lock, and the one of their data that has the files.
func DefaultStoreDirs() (dir, files string, err error) {
	if dir, err = os.UserConfigDir(); err != nil {
		return "", "", err
	}
	data, err := dataDir(dir)
	return filepath.Join(dir, "wharf", "plugins"), filepath.Join(data, "wharf", "plugins"), err
}

// dataDir is where programs of the user keep their data: on most systems the
// folder that has their configuration too.
func dataDir(config string) (string, error) {
	switch runtime.GOOS {
	case "windows":
		return os.UserCacheDir() // which is the data that stays on this machine
	case "darwin", "ios", "plan9":
		return config, nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share"), err
}

// Lock returns where the lock is, whether or not there is one.
func (s *Store) Lock() string { return s.store.Lock() }

// Path returns where the file of a plugin is.
func (s *Store) Path(p Installed) string { return s.store.Path(p) }

// List returns what is installed, sorted by name.
func (s *Store) List() ([]Installed, error) {
	all, err := s.store.List()
	return all, explainStore(err)
}

// Find returns the plugin of a name. One that is not there is an [ErrConfig].
func (s *Store) Find(name string) (Installed, error) {
	p, found, err := s.store.Find(name)
	if err == nil && !found {
		err = &store.MissingError{Name: name}
	}
	return p, explainStore(err)
}

// Files returns what is installed as [Config] takes it: pinned by hash, and bounded
// by what was granted.
func (s *Store) Files() (map[string]config.Plugin, error) {
	installed, err := s.List()
	files := make(map[string]config.Plugin, len(installed))
	for _, p := range installed {
		f := config.Plugin{Name: p.Name, File: s.Path(p), SHA256: p.SHA256, Kinds: []string{}}
		if p.Kind == KindTransport {
			f.Kinds = append(f.Kinds, p.Granted...)
		} else {
			f.Discover = p.Grants(DiscoverAccess)
			f.Origins = slices.DeleteFunc(slices.Clone(p.Granted), func(access string) bool { return access == DiscoverAccess })
		}
		files[p.Name] = f
	}
	return files, err
}

// Verify reads the file of a plugin again, and says in what way it is not what was
// installed. That is an [ErrDenied].
func (s *Store) Verify(p Installed) error {
	err := s.store.Verify(p)
	if err == nil {
		return nil
	}
	return &fault{kind: ErrDenied, err: fmt.Errorf("plugin %s: %w", p.Name, err),
		hint: "it is not used like this; `wharf plugin remove " + p.Name + "` and add it again"}
}

// Grant gives a plugin an access, and takes it with give == false.
func (s *Store) Grant(ctx context.Context, name string, give bool, accesses ...string) (p Installed, err error) {
	err = s.store.Grant(ctx, name, func(e Installed) ([]string, error) {
		for _, access := range accesses {
			if err := store.CheckAccess(e.Kind, access); err != nil {
				return nil, badEntry("plugin %s: %w", name, err)
			}
		}
		kept := slices.DeleteFunc(e.Granted, func(access string) bool { return slices.Contains(accesses, access) })
		if give {
			kept = append(kept, accesses...)
		}
		p = e
		p.Granted = store.Sorted(kept)
		return kept, nil
	})
	return p, explainStore(err)
}

// Remove forgets a plugin and deletes its files. Who trusted its publisher's key
// because of it does so no more.
func (s *Store) Remove(ctx context.Context, name string) error {
	return explainStore(s.store.Remove(ctx, name))
}

// explainStore sorts an error of the store.
func explainStore(err error) error {
	var missing *store.MissingError
	var taken *store.TakenError
	var signature *store.SignatureError
	var lost *store.UnreachableError
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*store.LockError)):
		return &fault{ErrConfig, err, ""}
	case errors.As(err, &missing):
		return &fault{ErrConfig, err, "`wharf plugin list` shows what is"}
	case errors.As(err, &taken):
		return &fault{ErrConfig, err, fmt.Sprintf("`wharf plugin update %s` fetches it again; --name gives this one another name", taken.Name)}
	case errors.As(err, &signature):
		return &fault{ErrDenied, err, signature.Hint}
	case errors.As(err, &lost) && errors.Is(err, context.DeadlineExceeded):
		return &fault{ErrTimeout, err, ""}
	case errors.As(err, &lost):
		return &fault{ErrUnreachable, err, ""}
	}
	return err
}

// bounded refuses to give a plugin that was installed what the user did not grant
// it, whatever a server entry says.
func (h *Host) bounded(s Server, via string, gs []capability.Grant) error {
	file, ok := h.files()[via]
	if !ok || file.Kinds == nil {
		return nil
	}
	for _, g := range gs {
		if kind := g.To.Kind(); !slices.Contains(file.Kinds, kind.String()) {
			return &fault{
				ErrDenied, fmt.Errorf("the entry has %s, and the plugin %s is not granted %s", entryKey(kind), via, kind),
				fmt.Sprintf("to grant it: wharf plugin grant %s %s", via, kind),
			}
		}
	}
	return nil
}

// entryKey is what in a server entry gives a kind of access.
func entryKey(kind abi.OpenKind) string { return (&capability.Denial{Kind: kind}).Key() }

// checkName says what is wrong with a name for a new plugin.
func (s *Store) checkName(name string) error {
	err := store.CheckName(name)
	if err == nil && slices.Contains(s.config.Reserved, name) {
		err = fmt.Errorf("%s is the name of a plugin that is part of this program", name)
	}
	if err != nil {
		return &fault{ErrConfig, err, "give it another name with --name"}
	}
	return nil
}

// samePin reports whether a person who writes down a hash means this one.
func samePin(hash, named string) bool {
	return strings.EqualFold(hash, strings.TrimPrefix(strings.ToLower(named), "sha256:"))
}

// unexpected is the error of a file that is not the one that was named.
func unexpected(source, got, want string) error {
	err := &plugin.HashError{Name: "new", Path: source, Want: want, Got: got}
	return &fault{ErrDenied, err, "it is another file than the one that you expect: ask where you have the hash from"}
}
