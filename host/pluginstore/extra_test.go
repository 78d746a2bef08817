package pluginstore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// transports says of every module that it is a transport over streams.
type transports struct{}

func (transports) Inspect(_ context.Context, _ string, module []byte) (*Info, error) {
	m := &abi.Manifest{Name: string(module), Version: "1.0.0", Grants: []abi.Grant{{Kind: abi.OpenStream, Name: "main"}}}
	return &Info{SHA256: plugin.Hash(module), Manifest: m}, nil
}

// An extra comes from the program or from its address, and is what the program knows or
// is refused.
func TestExtras(t *testing.T) {
	address := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/far", "/changed":
			io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/"))
		case "/moved":
			http.Redirect(w, r, "/far", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	hash := func(text string) string { return plugin.Hash([]byte(text)) }
	c := fresh(t).config
	c.Inspector = transports{}
	c.Extras = []Extra{
		{Name: "near", SHA256: hash("near"), Module: []byte("near")},
		{Name: "forged", SHA256: hash("near"), Module: []byte("forged")},
		{Name: "far", SHA256: hash("far"), URL: address + "/far"},
		{Name: "moved", SHA256: hash("far"), URL: address + "/moved"},
		{Name: "changed", SHA256: hash("far"), URL: address + "/changed"},
		{Name: "gone", SHA256: hash("far"), URL: address + "/gone"},
		{Name: "plain", SHA256: hash("far"), URL: strings.Replace(address, "https", "http", 1) + "/far"},
	}
	s := Open(c)
	for _, tt := range []struct {
		name string
		kind error
		says string
	}{
		{"near", nil, ""},
		{"far", nil, ""},
		{"moved", nil, ""},
		{"forged", hosterr.ErrDenied, "has sha256 " + hash("forged")},
		{"changed", hosterr.ErrDenied, "has sha256 " + hash("changed")},
		{"gone", hosterr.ErrUnreachable, "it is not there"},
		{"plain", hosterr.ErrConfig, "expected https://"},
		{"other", hosterr.ErrConfig, "knows no extra"},
		{"../near", hosterr.ErrConfig, "no name of a plugin"},
	} {
		o, err := s.Offer(t.Context(), Request{Source: ExtraScheme + tt.name, Name: strings.ReplaceAll(tt.name, "../", "a-")})
		if tt.kind != nil {
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if err == nil {
			err = s.Install(t.Context(), o)
		}
		p, lost := s.Find(tt.name)
		if err := errors.Join(err, lost); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if p.Source != ExtraScheme+tt.name || len(o.Warnings) > 0 || s.Verify(p) != nil {
			t.Errorf("%s: %+v, %q", tt.name, p, o.Warnings)
		}
	}
	if _, err := s.Offer(t.Context(), Request{Source: ExtraScheme + "near", Name: "again", SHA256: hash("x")}); !errors.Is(err, hosterr.ErrDenied) {
		t.Errorf("a hash of the user's is not compared: %v", err)
	}

	// A later program knows another file under the name, and an update installs that.
	c.Extras[0] = Extra{Name: "near", SHA256: hash("nearer"), Module: []byte("nearer")}
	o, err := Open(c).Update(t.Context(), "near", Request{})
	if err != nil || o.Same() || o.Vouched() || o.Plugin.SHA256 != hash("nearer") {
		t.Errorf("%+v, %v", o, err)
	}
}
