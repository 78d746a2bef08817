package pluginbuild

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrNoGo is the error of a folder without Go source.
var ErrNoGo = errors.New("there is no Go source in it")

// Options say what is built.
type Options struct {
	Dir       string // the package's folder; "" = the working folder
	File      string // the module that is written; "" = the folder's name and .wasm, in the folder
	Toolchain string // as $GOTOOLCHAIN has it; "" = [Toolchain], "local" = whichever Go is here
}

// Module is what was built.
type Module struct {
	File     string
	Size     int64
	SHA256   string // in lower-case hexadecimal
	Go       string // the toolchain that built it
	Segments int    // of data, after joining
	Joined   int    // segments before joining
}

// Build builds the package in a folder and writes the module. It starts the go command in that
// folder, with the environment of this process except for the variables that make a build depend
// on the machine. Source that does not compile is a [*CompileError], a toolchain that is not
// available a [*ToolchainError]; then nothing is written. A module without a go.sum gets one.
func Build(ctx context.Context, o Options) (*Module, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "build", Path: dir, Err: errors.New("it is a file; expected the folder of a plugin")}
	}
	if source, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(source) == 0 {
		return nil, fmt.Errorf("build %s: %w", dir, ErrNoGo)
	}
	g := gocmd{dir: dir, toolchain: cmp.Or(o.Toolchain, Toolchain)}
	version, err := g.version(ctx)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	built, err := g.build(ctx)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", dir, err)
	}
	m := &Module{File: cmp.Or(o.File, filepath.Join(o.Dir, filepath.Base(dir)+".wasm")), Go: version}
	if built, m.Joined, m.Segments, err = Join(built); err != nil {
		return m, fmt.Errorf("the module that the go command built: %w", err)
	}
	sum := sha256.Sum256(built)
	m.SHA256, m.Size = hex.EncodeToString(sum[:]), int64(len(built))
	return m, os.WriteFile(m.File, built, 0o666)
}
