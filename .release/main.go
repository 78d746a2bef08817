// Release builds what a release of Wharf consists of, from the commit that is checked out:
//
//	wharf_VERSION_OS_ARCH.tar.gz   the program, its man pages and completions; .zip for Windows
//	wharf_VERSION_ARCH.deb         the same as a Debian package
//	wharf.rb                       a Homebrew formula
//	SHA256SUMS                     of all of them
//
// The same commit gives the same bytes on every machine: the toolchain is pinned by the
// Makefile, paths are left out, and each time is that of the commit. The version, the
// commit and its time are those that Go itself records in the program.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", "..", "the repository")
	out := flag.String("out", "../bin/release", "the folder that is written; it is emptied first")
	platforms := flag.String("platforms", "", "the platforms, as OS/ARCH, with spaces between")
	flag.Parse()
	if err := release(*root, *out, strings.Fields(*platforms)); err != nil {
		log.Fatal(err)
	}
}

// program is a built program for one platform.
type program struct {
	os, arch string
	path     string
}

// origin is what a program says of the commit that it was built from.
type origin struct {
	version string // v1.2.3
	time    time.Time
}

func release(root, out string, platforms []string) error {
	if len(platforms) == 0 {
		return fmt.Errorf("no platforms; `make release` names them")
	}
	work, err := os.MkdirTemp("", "wharf-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	source := filepath.Join(work, "source") // a clone has what is committed, and nothing else
	if text, err := exec.Command("git", "clone", "--quiet", root, source).CombinedOutput(); err != nil {
		return fmt.Errorf("clone %s: %w: %s", root, err, text)
	}
	here, err := build(source, work, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return err
	}
	from, err := originOf(here.path)
	if err != nil {
		return err
	}
	docs, err := documents(source, here.path)
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for _, platform := range platforms {
		p := here
		if platform != here.os+"/"+here.arch {
			if p, err = build(source, work, platform); err != nil {
				return err
			}
		}
		if err := writeArchive(out, p, from, docs); err != nil {
			return err
		}
		if p.os == "linux" {
			if err := writeDebian(out, p, from, docs); err != nil {
				return err
			}
		}
	}
	if err := hashes(out, sums); err != nil {
		return err
	}
	if err := writeFormula(out, from, sums); err != nil {
		return err
	}
	return writeSums(out, sums)
}

// build builds the program for a platform, stripped, and without anything of this machine.
func build(root, work, platform string) (program, error) {
	goos, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return program{}, fmt.Errorf("%q is no platform; write OS/ARCH", platform)
	}
	p := program{os: goos, arch: arch, path: filepath.Join(work, goos+"-"+arch, "wharf")}
	if goos == "windows" {
		p.path += ".exe"
	}
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", p.path, "./cmd/wharf")
	c.Dir, c.Stdout, c.Stderr = root, os.Stderr, os.Stderr
	c.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0", "GOWORK=off")
	log.Println("build", platform)
	if err := c.Run(); err != nil {
		return p, fmt.Errorf("build %s: %w", platform, err)
	}
	return p, nil
}

// originOf reads what Go has recorded in a program.
func originOf(path string) (o origin, err error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return o, err
	}
	setting := func(key string) string {
		i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key })
		if i < 0 {
			return ""
		}
		return info.Settings[i].Value
	}
	if o.time, err = time.Parse(time.RFC3339, setting("vcs.time")); err != nil {
		return o, fmt.Errorf("the program does not say of which commit it is: %w", err)
	}
	if o.version = info.Main.Version; setting("vcs.modified") == "true" {
		return o, fmt.Errorf("the program is not of a commit alone: %s", o.version)
	}
	return o, nil
}

// document is a file that goes with the program: where it lies in an archive, and where
// on a Debian system.
type document struct {
	name, debian string
	data         []byte
}

// documents are the license, the README, the man pages, and the completions as the
// program writes them.
func documents(root, wharf string) ([]document, error) {
	var all []document
	for _, d := range []document{
		{name: "LICENSE", debian: "/usr/share/doc/wharf/copyright"},
		{name: "README.md", debian: "/usr/share/doc/wharf/README.md"},
		{name: "docs/REFERENCE.md", debian: "/usr/share/doc/wharf/REFERENCE.md"},
		{name: "docs/man/wharf.1", debian: "/usr/share/man/man1/wharf.1.gz"},
		{name: "docs/man/wharf.toml.5", debian: "/usr/share/man/man5/wharf.toml.5.gz"},
	} {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(d.name)))
		if err != nil {
			return nil, err
		}
		d.name, d.data = strings.TrimPrefix(d.name, "docs/"), data
		all = append(all, d)
	}
	for shell, path := range map[string]string{
		"bash": "/usr/share/bash-completion/completions/wharf",
		"zsh":  "/usr/share/zsh/vendor-completions/_wharf",
		"fish": "/usr/share/fish/vendor_completions.d/wharf.fish",
	} {
		data, err := exec.Command(wharf, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", shell, err)
		}
		all = append(all, document{"completions/" + filepath.Base(path), path, data})
	}
	slices.SortFunc(all, func(a, b document) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// hashes adds the hash of each file in out.
func hashes(out string, sums map[string]string) error {
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			return err
		}
		sums[e.Name()] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	return nil
}

// writeSums writes the hashes as sha256sum checks them.
func writeSums(out string, sums map[string]string) error {
	if err := hashes(out, sums); err != nil { // of the formula as well
		return err
	}
	var lines []string
	for name, sum := range sums {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[66:], b[66:]) })
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
