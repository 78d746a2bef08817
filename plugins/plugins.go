// Package plugins holds the plugins that are shipped with Wharf, and nothing
// else. They come into a host through the door that every plugin uses:
//
//	host.New(ctx, host.Config{Plugins: plugins.Builtin()})
package plugins

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// Each plugin is a folder with its source and the module built from it, which
// is committed because go install builds nothing but Go.
//
//go:embed */*.wasm
var modules embed.FS

// Builtin returns the modules of the shipped plugins by name. The map is the
// caller's; the bytes are shared and must not be changed.
func Builtin() map[string][]byte {
	found, err := fs.Glob(modules, "*/*.wasm")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	plugins := make(map[string][]byte, len(found))
	for _, file := range found {
		wasm, err := modules.ReadFile(file)
		if err != nil {
			panic(err) // the file is part of the program
		}
		plugins[strings.TrimSuffix(path.Base(file), ".wasm")] = wasm
	}
	return plugins
}
