// Package plugins holds the plugins that are shipped with Wharf, and nothing
// else. They come into a host through the door that every plugin uses:
//
//	host.New(ctx, host.Config{Plugins: plugins.Builtin()})
//
// stdio, http and bearer are in C, each below its folder source; their twins in Go are among
// the examples.
package plugins

import _ "embed"

// Each plugin is a folder with its source and the module built from it, which
// is committed because go install builds nothing but Go. They are variables and
// no file system, which would copy each of them when it is read: like this, what
// is not used is not even read from the disk.
var (
	//go:embed bearer/bearer.wasm
	bearer []byte
	//go:embed helper/helper.wasm
	helper []byte
	//go:embed http/http.wasm
	http []byte
	//go:embed oauth/oauth.wasm
	oauth []byte
	//go:embed sse/sse.wasm
	sse []byte
	//go:embed stdio/stdio.wasm
	stdio []byte
)

// Builtin returns the modules of the shipped plugins by name. The map is the
// caller's; the bytes are shared and must not be changed.
func Builtin() map[string][]byte {
	return map[string][]byte{
		"bearer": bearer, "helper": helper, "http": http, "oauth": oauth, "sse": sse, "stdio": stdio,
	}
}
