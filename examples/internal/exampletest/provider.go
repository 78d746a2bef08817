package exampletest

import (
	"context"
	"testing"

	extism "github.com/extism/go-sdk"
)

// Provider runs the module of an auth provider until the test ends. It returns a function that
// calls an export of the module.
func Provider(t testing.TB, module []byte) (call func(export string, in []byte) ([]byte, error)) {
	t.Helper()
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: module}}}
	p, err := extism.NewPlugin(context.Background(), manifest, extism.PluginConfig{EnableWasi: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	return func(export string, in []byte) ([]byte, error) {
		_, out, err := p.Call(export, in)
		return out, err
	}
}
