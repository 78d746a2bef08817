// Package plugins holds the plugins that are shipped with Wharf, and nothing else. A host gets
// them as it gets any other plugin:
//
//	host.New(ctx, host.Config{Plugins: plugins.Builtin()})
//
// Only oauth and sse are in Go. The others are in C, each below its folder source; their
// twins in Go are among the examples.
package plugins

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
)

// Each plugin is a folder with its source and the built module, which is
// committed because go install builds nothing but Go. The modules are variables,
// so that an unused one is not even read from the disk; a file system would copy
// each when it is read. The modules from Go, which have megabytes, are compressed
// to a quarter.
var (
	//go:embed bearer/bearer.wasm
	bearer []byte
	//go:embed helper/helper.wasm
	helper []byte
	//go:embed http/http.wasm
	http []byte
	//go:embed oauth/oauth.wasm.gz
	oauth []byte
	//go:embed sse/sse.wasm.gz
	sse []byte
	//go:embed stdio/stdio.wasm
	stdio []byte
)

// Builtin returns the shipped plugins by name, each as a function that returns its module. The caller
// owns the map; the bytes are shared and must not be changed. Calling a function costs nothing for a
// plugin in C. For one in Go it costs some 15 ms, and the size of the module in memory.
func Builtin() map[string]func() []byte {
	return map[string]func() []byte{
		"bearer": as(bearer), "helper": as(helper), "http": as(http), "oauth": unpacked(oauth), "sse": unpacked(sse), "stdio": as(stdio),
	}
}

func as(module []byte) func() []byte { return func() []byte { return module } }

// unpacked returns a function that unpacks a module. It does so anew each time: a host asks
// once, and the module is not kept afterwards.
func unpacked(packed []byte) func() []byte {
	return func() []byte {
		var module bytes.Buffer
		module.Grow(int(binary.LittleEndian.Uint32(packed[len(packed)-4:])) + bytes.MinRead) // RFC 1952, section 2.3.1: the size
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err == nil {
			_, err = module.ReadFrom(r)
		}
		if err != nil {
			panic("plugins: " + err.Error()) // the program itself is damaged
		}
		return module.Bytes()
	}
}
