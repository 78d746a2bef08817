package registry

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Bounds of a bundle.
const (
	maxBundle   = 256 << 20 // bytes of the archive
	maxUnpacked = 1 << 30   // bytes of all files in it
	maxFiles    = 50_000    // and folders
	maxListing  = 16 << 20  // bytes of the archive's list of its files
	maxName     = 1 << 10   // bytes of a path in it
	maxDepth    = 32        // folders of a path
	maxManifest = 1 << 20   // bytes
)

// manifestFile is the file in a bundle that says how its server is run.
const manifestFile = "manifest.json"

// Bundle is an archive (mcpb) that an option needs. It must be downloaded, verified and unpacked
// before the option can be used, see [Client.Unpack].
type Bundle struct {
	URL, SHA256 string
}

// hash matches a SHA-256.
var hash = lazyregexp.New(`^[0-9a-f]{64}$`)

// bundle reads a package of the type mcpb.
func (p *Package) bundle(o *Option) {
	u, err := url.Parse(p.Identifier)
	switch {
	case err != nil || u.Host == "" || u.User != nil || len(p.Identifier) > maxValue:
		o.Unusable = fmt.Sprintf("%.80q is no address of a bundle", p.Identifier)
	case !hash.MatchString(p.FileSHA256):
		o.Unusable = "it is a bundle without a hash, so it may be another one tomorrow"
	default:
		o.Bundle = &Bundle{p.Identifier, p.FileSHA256}
	}
}

// Unpack makes an option that is a bundle usable. Unless the folder has the bundle already, it
// downloads the archive, compares its hash, and unpacks it into a folder that is named by the
// hash. Then it reads how the server is run. Nothing of it is started. The archive comes from
// the public network, from the place of the registry, or from this machine if the registry is on it.
func (c *Client) Unpack(ctx context.Context, o *Option, dir string) error {
	b := o.Bundle
	at := filepath.Join(dir, b.SHA256)
	if _, err := os.Stat(filepath.Join(at, manifestFile)); err == nil {
		return b.compile(o, at)
	}
	archive, err := c.download(ctx, b)
	if err != nil {
		return err
	}
	if err := unpack(archive, dir, at); err != nil {
		return err
	}
	if err := b.compile(o, at); err != nil {
		return errors.Join(err, os.RemoveAll(at)) // no entry runs it
	}
	return nil
}

// compile makes an option that is a bundle usable, which is unpacked at a folder.
func (b *Bundle) compile(o *Option, at string) error {
	text, err := readBounded(filepath.Join(at, manifestFile), maxManifest)
	if err != nil {
		return protocolError("the bundle %s has no manifest that can be read: %w", cleantext.Line(b.URL, 200), err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return protocolError("the manifest of the bundle %s cannot be read: %w", cleantext.Line(b.URL, 200), err)
	}
	return m.compile(o, at)
}

func (c *Client) download(ctx context.Context, b *Bundle) ([]byte, error) {
	origin, err := url.Parse(c.base)
	if err != nil {
		return nil, err
	}
	origins := []string{origin.Scheme + "://" + origin.Host}
	if u, err := url.Parse(b.URL); err == nil && c.local && egress.IsLoopback(u.Hostname()) {
		origins = append(origins, u.Scheme+"://"+u.Host)
	}
	fetcher, err := egress.NewFetcher(egress.Policy{Origins: origins, Discover: true})
	if err != nil {
		return nil, err
	}
	defer fetcher.Close()
	got, err := fetcher.Download(ctx, egress.FetchRequest{URL: b.URL, Redirects: 3}, maxBundle)
	if err == nil && got.Status != 200 {
		err = fmt.Errorf("GET %s: HTTP %d", cleantext.Line(b.URL, 200), got.Status)
	}
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	if sum := sha256.Sum256(got.Body); hex.EncodeToString(sum[:]) != b.SHA256 {
		return nil, denied("", "the bundle at %s is not the one that the registry lists: its hash is %x", cleantext.Line(b.URL, 200), sum)
	}
	return got.Body, nil
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = errTooMuch
	}
	return text, err
}

// unpack unpacks an archive into a folder, which gets its name only once it is whole.
func unpack(archive []byte, dir, to string) error {
	if err := checkListing(archive); err != nil {
		return err
	}
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return protocolError("the bundle is no archive: %w", err)
	}
	if err := checkNames(r.File); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh) // removes nothing if all went well
	left := int64(maxUnpacked)
	for _, f := range r.File {
		n, err := unpackFile(f, fresh, left)
		if left -= n; err != nil {
			return protocolError("the bundle has a file that is not unpacked, %s: %w", cleantext.Line(f.Name, 200), err)
		}
	}
	err = os.Rename(fresh, to)
	if errors.Is(err, fs.ErrExist) { // another wharf was faster
		err = nil
	}
	return err
}

// checkListing bounds the list of files of an archive before it is read. Its declared length may
// be wrong, so checkListing counts every place that can be an entry of it.
func checkListing(archive []byte) error {
	const signature, fixed = "PK\x01\x02", 46 // of an entry, and its bytes without texts
	count, size := 0, 0
	for {
		i := bytes.Index(archive, []byte(signature))
		if i < 0 {
			return nil
		}
		if archive = archive[i:]; len(archive) >= fixed {
			count++
			size += fixed
			for _, at := range []int{28, 30, 32} { // the lengths of its texts
				size += int(binary.LittleEndian.Uint16(archive[at:]))
			}
		}
		archive = archive[len(signature):]
		switch {
		case count > maxFiles:
			return protocolError("the bundle has more than %d files", maxFiles)
		case size > maxListing:
			return protocolError("the bundle has a list of files that is larger than %d bytes", maxListing)
		}
	}
}

// checkNames bounds the paths of an archive, and the folders that they make.
func checkNames(files []*zip.File) error {
	made := make(map[string]bool)
	for _, f := range files {
		name := path.Clean(filepath.ToSlash(f.Name))
		switch {
		case len(f.Name) > maxName:
			return protocolError("the bundle has a file whose path is too long: %s", cleantext.Line(f.Name, 200))
		case strings.Count(name, "/") > maxDepth:
			return protocolError("the bundle has a file that is too deep in folders: %s", cleantext.Line(f.Name, 200))
		}
		for ; name != "." && name != "/" && name != ".." && !made[name]; name = path.Dir(name) {
			made[name] = true
		}
		if len(made) > maxFiles {
			return protocolError("the bundle has more than %d files and folders", maxFiles)
		}
	}
	return nil
}

// unpackFile writes one file of an archive below a folder, and returns its size in bytes. A
// link, a device, a path that leads elsewhere and a file that is there twice are errors.
func unpackFile(f *zip.File, dir string, limit int64) (n int64, err error) {
	name := filepath.FromSlash(f.Name)
	mode := f.Mode()
	switch {
	case !filepath.IsLocal(name):
		return 0, errors.New("its path leads elsewhere")
	case mode.IsDir():
		return 0, os.MkdirAll(filepath.Join(dir, name), 0o700)
	case !mode.IsRegular():
		return 0, errors.New("it is no regular file")
	}
	if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
		return 0, err
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|mode.Perm()&0o100)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = errTooMuch
	}
	return n, errors.Join(err, out.Close())
}

// bundlePrograms are the programs outside of a bundle that may run its server.
var bundlePrograms = []string{"node", "python", "python3", "uv", "bun", "deno", "java", "dotnet"}

// isInside reports whether a path is below a folder.
func isInside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// checkPlace refuses a text of a manifest that begins in the bundle and leads out of it: the hash is not that of the files there.
func checkPlace(text, dir string) error {
	for place := range strings.SplitSeq(text, string(filepath.ListSeparator)) {
		at := strings.Index(place, dir)
		if at < 0 {
			continue
		}
		if place = filepath.Clean(place[at:]); place != dir && !isInside(place, dir) {
			return denied("", "the bundle would use %s, which is not in it", cleantext.Word(place))
		}
	}
	return nil
}

// checkProgram refuses a program that is neither known nor in the bundle.
func checkProgram(program, dir string) error {
	if slices.Contains(bundlePrograms, program) || filepath.IsAbs(program) && isInside(program, dir) {
		return nil
	}
	return denied("", "the bundle would be run by %s, which is not in it and not one of the programs that run bundles", cleantext.Word(program))
}
