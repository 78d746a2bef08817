package pluginstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/plugin"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// manifestType is the one type of manifest that is read. An index, which lists manifests for
// several machines, is not needed: a module runs on all of them.
const manifestType = "application/vnd.oci.image.manifest.v1+json"

// artifact is the address of a file in a registry (OCI distribution specification 1.1). The file is
// the only layer of the manifest there. Wharf reads it without a sign-in.
type artifact struct {
	registry  string // host, with a port if need be
	name      string // "owner/pigeon"
	reference string // a tag, or a digest
}

// The grammars are those of the specification.
var (
	artifactPattern = lazyregexp.New(`^([a-zA-Z0-9.-]+(?::[0-9]{1,5})?)/([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)(?::([a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`)
	digestPattern   = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
	parameter       = lazyregexp.New(`([a-z]+)="([^"]*)"`)
)

// parseArtifact reads the part of a source behind "oci://".
func parseArtifact(text string) (*artifact, error) {
	m := artifactPattern.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%s is no artifact; expected oci://host/name:tag or oci://host/name@sha256:…", quote("oci://"+text))
	}
	return &artifact{m[1], m[2], cmp.Or(m[4], m[3], "latest")}, nil
}

// descriptor names content by its digest.
type descriptor struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// pull fetches the manifest, and the layer that the manifest names. Each must have the digest in
// its name.
func (a *artifact) pull(ctx context.Context) (*download, error) {
	web, err := newWeb(&url.URL{Scheme: "https", Host: a.registry})
	if err != nil {
		return nil, err
	}
	defer web.Close()
	r := &registry{web: web, artifact: a}
	layer, err := r.manifest(ctx)
	if err == nil {
		var binary []byte
		if binary, err = r.blob(ctx, layer); err == nil {
			return &download{Binary: binary}, nil
		}
	}
	return nil, unreachable(fmt.Errorf("oci://%s/%s: %w", a.registry, a.name, err))
}

// registry fetches an artifact, with the token that it was given.
type registry struct {
	*artifact
	web   *egress.Fetcher
	token string // "" for none; for this registry alone
}

func (r *registry) request(path string) egress.FetchRequest {
	header := map[string]string{"Accept": manifestType}
	if r.token != "" {
		header["Authorization"] = "Bearer " + r.token
	}
	return egress.FetchRequest{
		Method: "GET", URL: "https://" + r.registry + "/v2/" + r.name + path, Header: header, Redirects: maxHops,
	}
}

// manifest returns the only layer of the artifact. If the registry wants a token, as most do
// even for public artifacts, manifest gets one and asks again.
func (r *registry) manifest(ctx context.Context) (descriptor, error) {
	path := "/manifests/" + r.reference
	answer, err := r.web.Fetch(ctx, r.request(path))
	if err == nil && answer.Status == 401 {
		if err = r.admit(ctx, answer.Header["www-authenticate"]); err == nil {
			answer, err = r.web.Fetch(ctx, r.request(path))
		}
	}
	switch {
	case err != nil:
		return descriptor{}, err
	case answer.Status == 404:
		return descriptor{}, fmt.Errorf("there is no %s", r.reference)
	case answer.Status != 200:
		return descriptor{}, fmt.Errorf("HTTP %d; only what can be read without signing in is fetched", answer.Status)
	case digestPattern.MatchString(r.reference) && r.reference != digest(answer.Body):
		return descriptor{}, fmt.Errorf("the manifest has the digest %s, expected %s", digest(answer.Body), r.reference)
	}
	return onlyLayer(answer.Body)
}

func digest(data []byte) string { return "sha256:" + plugin.Hash(data) }

func onlyLayer(text []byte) (descriptor, error) {
	var m struct {
		Layers    []descriptor    `json:"layers"`
		Manifests json.RawMessage `json:"manifests"`
	}
	err := json.Unmarshal(text, &m)
	switch {
	case err != nil:
		return descriptor{}, fmt.Errorf("the manifest cannot be read: %w", err)
	case m.Manifests != nil:
		return descriptor{}, fmt.Errorf("it is an index of several artifacts; name one of them by its digest")
	case len(m.Layers) != 1:
		return descriptor{}, fmt.Errorf("it has %d layers; a plugin has one, which is the file", len(m.Layers))
	case !digestPattern.MatchString(m.Layers[0].Digest):
		return descriptor{}, fmt.Errorf("its layer has the digest %s; expected sha256:…", quote(m.Layers[0].Digest))
	case m.Layers[0].Size < 0 || m.Layers[0].Size > plugin.MaxSize:
		return descriptor{}, fmt.Errorf("its layer has %d bytes; at most %d are read", m.Layers[0].Size, plugin.MaxSize)
	}
	return m.Layers[0], nil
}

// blob fetches a layer. Registries redirect it to the place of the bytes.
func (r *registry) blob(ctx context.Context, layer descriptor) ([]byte, error) {
	answer, err := r.web.Download(ctx, r.request("/blobs/"+layer.Digest), layer.Size)
	switch {
	case err != nil:
		return nil, err
	case answer.Status != 200:
		return nil, fmt.Errorf("its layer: HTTP %d", answer.Status)
	case digest(answer.Body) != layer.Digest:
		return nil, fmt.Errorf("its layer has the digest %s, expected %s", digest(answer.Body), layer.Digest)
	}
	return answer.Body, nil
}

// admit gets an anonymous token from the address that the registry names. It asks for the right
// to read this artifact only, whatever the challenge names.
func (r *registry) admit(ctx context.Context, challenge string) error {
	scheme, rest, _ := strings.Cut(challenge, " ")
	values := map[string]string{}
	for _, m := range parameter.FindAllStringSubmatch(rest, -1) {
		values[m[1]] = m[2]
	}
	realm, err := url.Parse(values["realm"])
	if !strings.EqualFold(scheme, "bearer") || err != nil || realm.Host == "" {
		return fmt.Errorf("HTTP 401; only what can be read without signing in is fetched")
	}
	query := realm.Query()
	query.Set("scope", "repository:"+r.name+":pull")
	if values["service"] != "" {
		query.Set("service", values["service"])
	}
	realm.RawQuery = query.Encode()
	answer, err := r.web.Fetch(ctx, egress.FetchRequest{Method: "GET", URL: realm.String()})
	var pass struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if err == nil && answer.Status != 200 {
		err = fmt.Errorf("HTTP %d for a token; only what can be read without signing in is fetched", answer.Status)
	}
	if err == nil {
		err = json.Unmarshal(answer.Body, &pass)
	}
	r.token = cmp.Or(pass.Token, pass.Access)
	return err
}
