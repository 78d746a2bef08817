package host

import (
	"cmp"
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
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/host/internal/store"
	"github.com/wharf-mcp/wharf/host/internal/vault"
)

// Installed is one plugin that a user installed, as the lock of the store has it.
//
// Its fields:
//
//	Name    string // what server entries call it
//	Plugin  string // what it calls itself; "" where that was not kept yet
//	Kind    Kind
//	Version string // by its own account, like the name above and the text below
//	Summary string
//	Source string // a path, an https URL, or oci://…
//	SHA256 string // of the file, lower-case hex
//	Size   int64
//	Former string // the hash before the last update, whose file is kept
//	// A publisher's minisign key, and what it signed the file with; "" for none.
//	Key       string
//	Signature string
//	// Records names this installation, in hex: what an auth provider keeps in the vault
//	// is bound to it. An update keeps it. It is "" for a transport, and for what was
//	// installed before there was one.
//	Records string
//	Asked   []string // the accesses that it wants
//	Granted []string // those that the user gave it
//	Time    time.Time // of the last change
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

	// VaultDir is that of [Config]: what a plugin keeps in it goes with the plugin.
	VaultDir string

	// Worker is that of [Config]: a plugin that nobody has seen yet is looked at,
	// compiled and asked what it is in such a process. Without it that is done here,
	// within the low limits that Config names.
	Worker []string
}

// Store is the plugins that a user installed. Its methods may be called at any
// time from any goroutine, also in several processes.
type Store struct {
	config   StoreConfig
	store    *store.Store
	patience time.Duration // with a Worker; 0 is that of Config
}

// OpenStore returns the store of a configuration. It touches nothing.
func OpenStore(c StoreConfig) *Store { return &Store{config: c, store: store.Open(c.Dir, c.Files)} }

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
// by what was granted. What has the name of a plugin that is part of the program is
// not among it, see [Store.Outranked].
func (s *Store) Files() (map[string]config.Plugin, error) {
	installed, err := s.List()
	files := make(map[string]config.Plugin, len(installed))
	for _, p := range installed {
		if s.outranked(p) {
			continue
		}
		f := config.Plugin{Name: p.Name, File: s.Path(p), SHA256: p.SHA256, Installed: installation(p)}
		if p.Kind == KindTransport {
			f.Installed.Kinds = slices.Clone(p.Granted)
		} else {
			f.Discover = p.Grants(DiscoverAccess)
			f.Origins = slices.DeleteFunc(slices.Clone(p.Granted), func(access string) bool { return access == DiscoverAccess })
		}
		files[p.Name] = f
	}
	return files, err
}

func installation(p Installed) *config.Installed {
	return &config.Installed{Plugin: cmp.Or(p.Plugin, p.Name), Source: p.Source, Key: p.Key, Asked: p.Asked, Records: p.Records}
}

// Outranked returns what is installed and not used, since a plugin that is part of
// the program has its name: a later version of the program may bring one.
func (s *Store) Outranked() ([]Installed, error) {
	installed, err := s.List()
	return slices.DeleteFunc(installed, func(p Installed) bool { return !s.outranked(p) }), err
}

func (s *Store) outranked(p Installed) bool { return slices.Contains(s.config.Reserved, p.Name) }

// Verify reads the file of a plugin again, and says in what way it is not what was
// installed. That is an [ErrDenied].
func (s *Store) Verify(p Installed) error {
	err := s.store.Verify(p)
	if err == nil {
		return nil
	}
	if !errors.As(err, new(*plugin.HashError)) { // which names the plugin
		err = fmt.Errorf("plugin %s: %w", p.Name, err)
	}
	return &hosterr.Error{Kind: ErrDenied, Err: err, Hint: reinstall(p.Name, installation(p))}
}

// reinstall says how a plugin is installed anew whose file is not what was installed.
// To write down the hash that the file has now would be no way: the lock is what the
// user was shown.
func reinstall(name string, i *config.Installed) string {
	add := "wharf plugin add " + shellWord(i.Source)
	if i.Plugin != name {
		add += " --name " + name
	}
	if i.Key != "" {
		add += " --key " + i.Key
	}
	return fmt.Sprintf("it is not used like this; to install it anew: wharf plugin remove %s && %s", name, add)
}

// shellWord quotes a word of a command line where a shell would take it for another.
func shellWord(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Grant gives a plugin accesses, and takes them with give == false. One that the
// plugin cannot use, since it does not ask for it, is an [ErrConfig] and gives
// nothing.
func (s *Store) Grant(ctx context.Context, name string, give bool, accesses ...string) (p Installed, err error) {
	err = s.store.Grant(ctx, name, func(e Installed) ([]string, error) {
		for _, access := range accesses {
			if err := store.CheckAccess(e.Kind, access); err != nil {
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
		p.Granted = store.Sorted(kept)
		return kept, nil
	})
	return p, explainStore(err)
}

// Remove forgets a plugin, and deletes its files and what it keeps in the vault. Who
// trusted its publisher's key because of it does so no more. Where the vault cannot be
// changed, that is the error, and the plugin is gone: what it has kept is bound to it,
// and is given to no other.
func (s *Store) Remove(ctx context.Context, name string) error {
	p, err := s.Find(name)
	if err != nil {
		return err
	}
	if err := s.store.Remove(ctx, name); err != nil {
		return explainStore(err)
	}
	if p.Kind != KindProvider || s.config.VaultDir == "" || p.Records == "" && s.outranked(p) {
		return nil // the records of its name are those of the one that is part of the program
	}
	if err := forgetRecords(ctx, vault.Open(vault.Config{Dir: s.config.VaultDir}), recordsOwner(name, p.Records)); err != nil {
		return fmt.Errorf("%s is removed, and what it has kept is not: %w", name, err)
	}
	return nil
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
		return &hosterr.Error{Kind: ErrConfig, Err: err}
	case errors.As(err, &missing):
		return &hosterr.Error{Kind: ErrConfig, Err: err, Hint: "`wharf plugin list` shows what is"}
	case errors.As(err, &taken):
		return &hosterr.Error{Kind: ErrConfig, Err: err, Hint: fmt.Sprintf("`wharf plugin update %s` fetches it again; --name gives this one another name", taken.Name)}
	case errors.As(err, &signature):
		return &hosterr.Error{Kind: ErrDenied, Err: err, Hint: signature.Hint}
	case errors.As(err, &lost) && errors.Is(err, context.DeadlineExceeded):
		return &hosterr.Error{Kind: ErrTimeout, Err: err}
	case errors.As(err, &lost):
		return &hosterr.Error{Kind: ErrUnreachable, Err: err}
	}
	return err
}

// bounded refuses to give a plugin that was installed what the user did not grant
// it, whatever a server entry says.
func (h *Host) bounded(s Server, via string, gs []capability.Grant) error {
	i := h.files()[via].Installed
	if i == nil {
		return nil
	}
	for _, g := range gs {
		switch kind := g.To.Kind(); {
		case slices.Contains(i.Kinds, kind.String()):
		case slices.Contains(i.Asked, kind.String()):
			return &hosterr.Error{
				Kind: ErrDenied,
				Err:  fmt.Errorf("the entry has %s, and the plugin %s is not granted %s", entryKey(kind), via, kind),
				Hint: fmt.Sprintf("to grant it: wharf plugin grant %s %s", via, kind),
			}
		default:
			return &hosterr.Error{
				Kind: ErrDenied,
				Err:  fmt.Errorf("the entry has %s, and the plugin %s does not ask for %s", entryKey(kind), via, kind),
				Hint: fmt.Sprintf("write %s in the entry in place of %s", entryKeys(i.Asked), entryKey(kind)),
			}
		}
	}
	return nil
}

// askedFor says why an access would be of no use to a plugin. A provider that wants
// every origin that it learns of may be granted any by its name, also one that is not
// public.
func askedFor(p Installed, access string) error {
	if slices.Contains(p.Asked, access) {
		return nil
	}
	if p.Kind == KindProvider && access != DiscoverAccess && slices.Contains(p.Asked, DiscoverAccess) {
		web, err := capability.NewFetcher(capability.Reach{Origins: []string{access}})
		if err != nil {
			return hosterr.Configf("plugin %s: %w", p.Name, err)
		}
		web.Close()
		return nil
	}
	return &hosterr.Error{
		Kind: ErrConfig,
		Err:  fmt.Errorf("plugin %s asks for %s, and not for %s", p.Name, listed(p.Asked), access),
		Hint: "`wharf plugin inspect " + p.Name + "` shows all that it wants",
	}
}

// listed is a list for people.
func listed(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// entryKeys are the keys of a server entry that give a transport what it asks for.
func entryKeys(asked []string) string {
	var keys []string
	for _, kind := range []abi.OpenKind{abi.OpenProcess, abi.OpenStream, abi.OpenHTTP} {
		if slices.Contains(asked, kind.String()) {
			keys = append(keys, entryKey(kind))
		}
	}
	return cmp.Or(strings.Join(keys, " or "), "nothing")
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
		return &hosterr.Error{Kind: ErrConfig, Err: err, Hint: "give it another name with --name"}
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
	return &hosterr.Error{Kind: ErrDenied, Err: err, Hint: "it is another file than the one that you expect: ask where you have the hash from"}
}
