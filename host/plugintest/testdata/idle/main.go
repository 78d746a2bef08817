// Command idle is an auth provider that calls Extism itself. It answers every event with
// done.
package main

const (
	manifest = `{"abi":"wharf-auth-0","name":"idle","version":"1","settings":[{"key":"word","about":"it is not read","required":true}],"wants":{"requests":true}}`
	done     = `{"state":"all","actions":[{"kind":"done"}]}`
)

//go:wasmexport wharf_auth_describe
func describe() int32 { return say(manifest) }

//go:wasmexport wharf_auth_step
func takeStep() int32 { return say(done) }

func say(text string) int32 {
	at := alloc(uint64(len(text)))
	for i := range len(text) {
		store8(at+uint64(i), uint32(text[i]))
	}
	outputSet(at, uint64(len(text)))
	return 0
}

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env store_u8
func store8(offset uint64, value uint32)

//go:wasmimport extism:host/env output_set
func outputSet(offset, n uint64)

func main() {}
