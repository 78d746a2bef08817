package pluginstore

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// ExtraScheme is what the source of an extra begins with; its name follows.
const ExtraScheme = "extra://"

// Extra is a plugin outside of the host that the program knows by its name and its hash.
type Extra struct {
	Name   string
	SHA256 string // lower-case hex
	URL    string // where it is published, https://…
	Module []byte // nil for one that is fetched
}

// readExtra returns an extra, after comparing its hash with the one that the program knows.
func (s *Store) readExtra(ctx context.Context, name string) (*download, error) {
	at := slices.IndexFunc(s.config.Extras, func(e Extra) bool { return e.Name == name })
	if at < 0 {
		return nil, hosterr.Configf("this program knows no extra %s", quote(name))
	}
	e := s.config.Extras[at]
	binary := e.Module
	if binary == nil {
		u, err := url.Parse(e.URL)
		if err != nil || u.Scheme != "https" {
			return nil, hosterr.Configf("the address of the extra %s is %s; expected https://…", name, quote(e.URL))
		}
		web, err := newWeb(u)
		if err != nil {
			return nil, err
		}
		defer web.Close()
		if binary, err = get(ctx, web, u, plugin.MaxSize); err != nil {
			return nil, err
		}
		if binary == nil {
			return nil, unreachable(fmt.Errorf("GET %s: it is not there", bare(u)))
		}
	}
	if hash := plugin.Hash(binary); hash != e.SHA256 {
		return nil, &hosterr.Error{
			Kind: hosterr.ErrDenied,
			Err:  &plugin.HashError{Name: name, Path: e.URL, Want: e.SHA256, Got: hash},
			Hint: "it is not the file that this program was released with; do not use it, and tell those who publish it",
		}
	}
	return &download{Binary: binary, known: true}, nil
}
