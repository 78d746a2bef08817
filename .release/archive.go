package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

const (
	homepage    = "https://github.com/wharf-mcp/wharf"
	description = "MCP client host whose transports are sandboxed Wasm plugins"
)

// archiveName is the name of the archive of a platform, without its ending.
func archiveName(version, goos, arch string) string {
	return fmt.Sprintf("wharf_%s_%s_%s", strings.TrimPrefix(version, "v"), goos, arch)
}

// writeArchive writes the program and its documents, in a folder of the archive's name.
func writeArchive(out string, p program, from origin, docs []document) error {
	binary, err := os.ReadFile(p.path)
	if err != nil {
		return err
	}
	name := archiveName(from.version, p.os, p.arch)
	all := append([]document{{name: filepath.Base(p.path), data: binary}}, docs...)
	var b bytes.Buffer
	ending, write := ".tar.gz", writeTar
	if p.os == "windows" {
		ending, write = ".zip", writeZip
	}
	if err := write(&b, name+"/", all, from.time); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, name+ending), b.Bytes(), 0o644)
}

func mode(i int) int64 {
	if i == 0 { // the program
		return 0o755
	}
	return 0o644
}

func writeTar(w io.Writer, folder string, all []document, at time.Time) error {
	z, _ := gzip.NewWriterLevel(w, gzip.BestCompression)
	t := tar.NewWriter(z)
	for i, d := range all {
		h := &tar.Header{Name: folder + d.name, Mode: mode(i), Size: int64(len(d.data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(d.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, folder string, all []document, at time.Time) error {
	z := zip.NewWriter(w)
	for i, d := range all {
		h := &zip.FileHeader{Name: folder + d.name, Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(os.FileMode(mode(i)))
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(d.data); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeDebian writes the package. A release sorts behind its pre-releases, and those
// behind what was built before them.
func writeDebian(out string, p program, from origin, docs []document) error {
	folder, err := os.MkdirTemp("", "wharf-deb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	info := func(mode os.FileMode) *files.ContentFileInfo {
		return &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: from.time}
	}
	contents := files.Contents{{Source: p.path, Destination: "/usr/bin/wharf", FileInfo: info(0o755)}}
	for _, d := range docs {
		data := d.data
		if strings.HasSuffix(d.debian, ".gz") {
			var b bytes.Buffer
			z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
			z.Write(data)
			z.Close()
			data = b.Bytes()
		}
		path := filepath.Join(folder, filepath.Base(d.debian))
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: path, Destination: d.debian, FileInfo: info(0o644)})
	}
	pkg := nfpm.WithDefaults(&nfpm.Info{
		Name: "wharf", Arch: p.arch, Platform: "linux", Version: from.version, MTime: from.time,
		Section: "net", Priority: "optional", Maintainer: "The Wharf authors <" + homepage + ">",
		Description: description, Homepage: homepage, License: "Apache-2.0", DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Umask: 0o022, Recommends: []string{"ca-certificates"}},
	})
	if err := nfpm.PrepareForPackager(pkg, "deb"); err != nil {
		return fmt.Errorf("debian package: %w", err)
	}
	var b bytes.Buffer
	if err := deb.Default.Package(pkg, &b); err != nil {
		return fmt.Errorf("debian package: %w", err)
	}
	name := fmt.Sprintf("wharf_%s_%s.deb", strings.TrimPrefix(from.version, "v"), p.arch)
	return os.WriteFile(filepath.Join(out, name), b.Bytes(), 0o644)
}

// writeFormula writes the formula for the platforms that there are archives of.
func writeFormula(out string, from origin, sums map[string]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "class Wharf < Formula\n  desc %q\n  homepage %q\n  version %q\n  license \"Apache-2.0\"\n",
		description, homepage, strings.TrimPrefix(from.version, "v"))
	for _, system := range []struct{ goos, word string }{{"darwin", "on_macos"}, {"linux", "on_linux"}} {
		var inner strings.Builder
		for _, cpu := range []struct{ arch, word string }{{"amd64", "on_intel"}, {"arm64", "on_arm"}} {
			name := archiveName(from.version, system.goos, cpu.arch) + ".tar.gz"
			if sum, found := sums[name]; found {
				fmt.Fprintf(&inner, "    %s do\n      url \"%s/releases/download/%s/%s\"\n      sha256 %q\n    end\n",
					cpu.word, homepage, from.version, name, sum)
			}
		}
		if inner.Len() > 0 {
			fmt.Fprintf(&b, "\n  %s do\n%s  end\n", system.word, inner.String())
		}
	}
	b.WriteString(`
  def install
    bin.install "wharf"
    man1.install "man/wharf.1"
    man5.install "man/wharf.toml.5"
    bash_completion.install "completions/wharf"
    zsh_completion.install "completions/_wharf"
    fish_completion.install "completions/wharf.fish"
  end

  test do
    assert_match "hello", shell_output("#{bin}/wharf call demo echo message=hello")
  end
end
`)
	return os.WriteFile(filepath.Join(out, "wharf.rb"), []byte(b.String()), 0o644)
}
