package pluginstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// site is a server of files, with TLS.
func site(t *testing.T, handler http.HandlerFunc) (url string) {
	t.Helper()
	s := httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

func read(t *testing.T, text string) (*download, error) {
	t.Helper()
	s, err := parseSource(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.Read(t.Context())
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pigeon.wasm")
	put := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(path, []byte("plugin"))
	if p, err := read(t, path); err != nil || string(p.Binary) != "plugin" || p.Signature != "" || p.Key != "" {
		t.Errorf("%+v, %v", p, err)
	}
	put(path+".minisig", []byte("signature"))
	put(filepath.Join(dir, "minisign.pub"), []byte("key"))
	if p, err := read(t, path); err != nil || p.Signature != "signature" || p.Key != "key" {
		t.Errorf("%+v, %v", p, err)
	}
	put(path+".minisig", make([]byte, maxText+1))
	if _, err := read(t, path); err == nil {
		t.Error("a huge signature is read")
	}
	if err := os.Truncate(path, plugin.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, path); err == nil {
		t.Error("a huge file is read")
	}
	if _, err := read(t, path+"none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestDownload(t *testing.T) {
	beside := map[string]string{"/p/pigeon.wasm": "plugin"}
	url := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/latest" {
			http.Redirect(w, r, "/p/pigeon.wasm?at=1", http.StatusFound)
			return
		}
		text, found := beside[r.URL.Path]
		if !found {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
	})
	if p, err := read(t, url+"/latest"); err != nil || string(p.Binary) != "plugin" || p.Signature != "" {
		t.Errorf("%+v, %v", p, err)
	}
	beside["/p/pigeon.wasm.minisig"], beside["/p/minisign.pub"] = "signature", "key"
	if p, err := read(t, url+"/p/pigeon.wasm?token=x"); err != nil || p.Signature != "signature" || p.Key != "key" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestDownloadRefuses(t *testing.T) {
	elsewhere := site(t, func(http.ResponseWriter, *http.Request) { t.Error("a download was led elsewhere on this machine") })
	url := site(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/truncated":
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "plug")
		case "/long":
			w.Header().Set("Content-Length", fmt.Sprint(plugin.MaxSize+1))
		case "/endless":
			for block := make([]byte, 1<<20); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/away":
			http.Redirect(w, r, elsewhere+"/p", http.StatusFound)
		case "/private":
			http.Redirect(w, r, "https://10.0.0.1/p", http.StatusFound)
		case "/cloud":
			http.Redirect(w, r, "https://169.254.169.254/latest", http.StatusFound)
		case "/plain":
			http.Redirect(w, r, "http://a.example/p", http.StatusFound)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/signed.minisig":
			w.WriteHeader(http.StatusBadGateway)
		case "/signed":
			fmt.Fprint(w, "plugin")
		default:
			http.NotFound(w, r)
		}
	})
	for path, says := range map[string]string{
		"/truncated": "breaks off after 4 bytes", "/long": "longer than", "/endless": "longer than", "/loop": "more than 3 times",
		"/away": "this machine", "/private": "private", "/cloud": "link-local", "/plain": "only https", "/broken": "HTTP 500", "/none": "not there",
		"/signed": "HTTP 502", // a signature that cannot be had for now is not one that is not there
	} {
		_, err := read(t, url+path)
		if !errors.Is(err, hosterr.ErrUnreachable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: says %v; want %q", path, err, says)
		}
	}
}

func TestDownloadEndsWithItsContext(t *testing.T) {
	begun := make(chan struct{})
	url := site(t, func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	s, err := parseSource(url + "/p")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// fakeRegistry is a registry with one artifact.
type fakeRegistry struct {
	t        *testing.T
	url      string // without its scheme
	manifest string
	layer    []byte
	asked    []string // "/token" with its query
}

func newFakeRegistry(t *testing.T) *fakeRegistry {
	h := &fakeRegistry{t: t, layer: []byte("plugin")}
	h.manifest = fmt.Sprintf(`{"schemaVersion":2,"layers":[{"digest":%q,"size":6}]}`, digest(h.layer))
	h.url = strings.TrimPrefix(site(t, h.serve), "https://")
	return h
}

func (h *fakeRegistry) serve(w http.ResponseWriter, r *http.Request) {
	entered := r.Header.Get("Authorization") == "Bearer pass"
	switch path := r.URL.Path; {
	case path == "/token":
		h.asked = append(h.asked, r.URL.RawQuery)
		fmt.Fprint(w, `{"access_token":"pass"}`)
	case !entered:
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="https://%s/token?a=b",service="harbour",scope="repository:everything:push"`, r.Host))
		w.WriteHeader(http.StatusUnauthorized)
	case strings.HasPrefix(path, "/v2/owner/pigeon/manifests/"):
		if path == "/v2/owner/pigeon/manifests/none" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, h.manifest)
	case path == "/v2/owner/pigeon/blobs/"+digest([]byte("plugin")):
		http.Redirect(w, r, "/store/1", http.StatusTemporaryRedirect)
	case path == "/store/1":
		w.Write(h.layer)
	default:
		h.t.Errorf("%s was asked for", path)
	}
}

func TestPull(t *testing.T) {
	h := newFakeRegistry(t)
	for _, reference := range []string{"", ":1.0", "@" + digest([]byte(h.manifest)), ":1.0@" + digest([]byte(h.manifest))} {
		p, err := read(t, "oci://"+h.url+"/owner/pigeon"+reference)
		if err != nil || !bytes.Equal(p.Binary, h.layer) {
			t.Errorf("%s: %+v, %v", reference, p, err)
		}
	}
	if want := "a=b&scope=repository%3Aowner%2Fpigeon%3Apull&service=harbour"; h.asked[0] != want {
		t.Errorf("asked for %q; want %q", h.asked[0], want)
	}
}

func TestPullRefuses(t *testing.T) {
	good := digest([]byte("plugin"))
	for name, tc := range map[string]struct{ reference, manifest, layer, says string }{
		"no such tag":    {":none", "", "", "there is no none"},
		"another digest": {"@" + good, "", "", "expected " + good},
		"another layer":  {"", "", "plugIn", "expected " + good},
		"a long layer":   {"", "", "plugin and more", "longer than 6 bytes"},
		"no layer":       {"", `{"layers":[]}`, "", "0 layers"},
		"two layers":     {"", `{"layers":[{},{}]}`, "", "2 layers"},
		"an index":       {"", `{"manifests":[]}`, "", "index"},
		"a path":         {"", `{"layers":[{"digest":"../../x","size":1}]}`, "", "digest"},
		"huge":           {"", fmt.Sprintf(`{"layers":[{"digest":%q,"size":99999999999}]}`, good), "", "at most"},
		"below nothing":  {"", fmt.Sprintf(`{"layers":[{"digest":%q,"size":-1}]}`, good), "", "at most"},
		"no JSON":        {"", `<html>`, "", "manifest cannot be read"},
		"a long one":     {"", strings.Repeat(" ", 1<<20), "", "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFakeRegistry(t)
			if tc.manifest != "" {
				h.manifest = tc.manifest
			}
			if tc.layer != "" {
				h.layer = []byte(tc.layer)
			}
			if _, err := read(t, "oci://"+h.url+"/owner/pigeon"+tc.reference); !errors.Is(err, hosterr.ErrUnreachable) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("says %v; want %q", err, tc.says)
			}
		})
	}
}

// A registry that wants more than an anonymous token, or sends for one to where
// no request may go, is not read.
func TestPullStaysAnonymous(t *testing.T) {
	for challenge, says := range map[string]string{
		`Basic realm="https://a.example"`:          "without signing in",
		`Bearer realm="https://10.0.0.1/token"`:    "private",
		`Bearer realm="http://a.example/token"`:    "only https",
		`Bearer realm="https://127.0.0.1:1/token"`: "this machine",
		`Bearer`: "without signing in",
		``:       "without signing in",
	} {
		url := site(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		})
		if _, err := read(t, strings.Replace(url, "https", "oci", 1)+"/owner/pigeon"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: says %v; want %q", challenge, err, says)
		}
	}
}
