package pluginstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
)

// The files that may lie beside a plugin.
const (
	signatureSuffix = ".minisig"
	keyFile         = "minisign.pub"
)

// maxHops is how many redirects a download follows.
const maxHops = 3

// source is where a plugin comes from: a file, an https URL, an artifact in a registry,
// or the extras of the program.
type source struct {
	Text  string // as an entry has it
	file  string // the path, of a file
	url   *url.URL
	oci   *artifact
	extra string // the name, of an extra
}

// download is what a source returned: the plugin, and the files beside it. The caller owns the
// bytes. Nothing in it has been checked.
type download struct {
	Binary    []byte
	Signature string // "" for none
	Key       string // "" for none; an attacker who changed the plugin could have changed it too

	known bool // its hash is that of an extra
}

// parseSource reads a source as the user wrote it. A path becomes absolute.
func parseSource(text string) (source, error) {
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case text == "" || len(text) > maxText:
		return source{}, fmt.Errorf("a source has %d bytes; expected a file, https://… or oci://…", len(text))
	case !isURL:
		file, err := filepath.Abs(text)
		return source{Text: file, file: file}, err
	case scheme+"://" == ExtraScheme:
		return source{Text: text, extra: rest}, checkName(rest)
	case scheme == "oci":
		a, err := parseArtifact(rest)
		return source{Text: text, oci: a}, err
	case scheme != "https":
		return source{}, fmt.Errorf("%q: a plugin comes from a file, from https://… or from oci://…", text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return source{}, fmt.Errorf("%s is no address of a file; expected https://host/path", quote(text))
	}
	return source{Text: text, url: u}, nil
}

// Read fetches a plugin and the files beside it, each once. It does not know extras:
// [Store.readExtra] reads those.
func (s source) Read(ctx context.Context) (*download, error) {
	switch {
	case s.url != nil:
		return s.download(ctx)
	case s.oci != nil:
		return s.oci.pull(ctx)
	}
	binary, err := plugin.ReadFile(s.file, plugin.MaxSize)
	if err != nil {
		return nil, err
	}
	p := &download{Binary: binary}
	for name, text := range map[string]*string{s.file + signatureSuffix: &p.Signature, filepath.Join(filepath.Dir(s.file), keyFile): &p.Key} {
		beside, err := plugin.ReadFile(name, maxText)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		*text = string(beside)
	}
	return p, nil
}

// download fetches the plugin and its signature from a url. It fetches the key only if there is a
// signature to check.
func (s source) download(ctx context.Context) (*download, error) {
	web, err := newWeb(s.url)
	if err != nil {
		return nil, err
	}
	defer web.Close()
	binary, err := get(ctx, web, s.url, plugin.MaxSize)
	if err == nil && binary == nil {
		err = unreachable(fmt.Errorf("GET %s: it is not there, or not public", bare(s.url)))
	}
	if err != nil {
		return nil, err
	}
	p := &download{Binary: binary}
	beside := *s.url
	beside.Path += signatureSuffix
	beside.RawPath = ""
	if p.Signature, err = getText(ctx, web, &beside); err != nil || p.Signature == "" {
		return p, err
	}
	beside.Path = path.Join(path.Dir(s.url.Path), keyFile)
	p.Key, err = getText(ctx, web, &beside)
	return p, err
}

// newWeb returns a fetcher for an origin that the user named. It follows redirects to public
// https origins only.
func newWeb(to *url.URL) (*egress.Fetcher, error) {
	return egress.NewFetcher(egress.Policy{Origins: []string{to.Scheme + "://" + to.Host}, Discover: true})
}

// get returns the content of a file, or nil where there is no file.
func get(ctx context.Context, web *egress.Fetcher, u *url.URL, limit int64) ([]byte, error) {
	answer, err := web.Download(ctx, egress.FetchRequest{URL: u.String(), Redirects: maxHops}, limit)
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return nil, unreachable(fmt.Errorf("GET %s: the server does not speak TLS, and a plugin is not fetched without; "+
			"fetch the file by other means, and add that", bare(u)))
	case err != nil:
		return nil, unreachable(err)
	case answer.Status == 200:
		return append([]byte{}, answer.Body...), nil
	case answer.Status == 403 || answer.Status == 404 || answer.Status == 410: // file stores forbid what they do not have
		return nil, nil
	}
	return nil, unreachable(fmt.Errorf("GET %s: HTTP %d", bare(u), answer.Status))
}

func getText(ctx context.Context, web *egress.Fetcher, u *url.URL) (string, error) {
	text, err := get(ctx, web, u, maxText)
	return string(text), err
}

// bare returns a URL without its query, which may have a secret in it.
func bare(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }
