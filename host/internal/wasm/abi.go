package wasm

import (
	"context"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// ABI says what a module may import and must export.
type ABI struct {
	Module       string     // the module name of the imports; WASI may be imported too
	Imports      []HostFunc // what may be imported from Module
	Exports      []Export   // what must be exported
	MarkerPrefix string     // the prefix of marker names, for any version of the ABI
	Marker       string     // the exported function whose name is the version of this host
}

// Export is a function a module must export. All its values are i32.
type Export struct {
	Name      string
	Params    int
	HasResult bool
	Optional  bool // may be missing, but not have another signature
}

// HostFunc is a function of the host that modules may import. All its values
// are i32.
//
// Func finds its parameters in stack and leaves its result in stack[0]; it must not keep the
// stack, block, or call the instance again. Price is charged before Func runs. A price that
// depends on a length is charged by Func itself, before it does the work.
type HostFunc struct {
	Name      string
	Params    int
	HasResult bool
	Price     int64
	Func      func(in *Instance, stack []uint64)
}

// hostFunc is a host function of any signature.
type hostFunc struct {
	module, name string
	signature    signature
	price        int64
	run          func(in *Instance, stack []uint64)
}

func (s ABI) hostFuncs() []hostFunc {
	funcs := make([]hostFunc, 0, len(s.Imports))
	for _, f := range s.Imports {
		funcs = append(funcs, hostFunc{s.Module, f.Name, i32s(f.Params, f.HasResult), f.Price, f.Func})
	}
	return funcs
}

// offer lets the modules of r import funcs, which share one module name. It uses no reflection. The
// instance travels in the context of the call, which wazero passes on unchanged.
func offer(ctx context.Context, r wazero.Runtime, funcs []hostFunc) error {
	if len(funcs) == 0 {
		return nil
	}
	b := r.NewHostModuleBuilder(funcs[0].module)
	for _, f := range funcs {
		run, price := f.run, f.price
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			in := instanceOf(ctx)
			in.Charge(price)
			run(in, stack)
		}), []api.ValueType(f.signature.params), []api.ValueType(f.signature.results)).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// i32s returns the signature of a function that takes params values of type i32. It returns one
// i32 if result is true, or else nothing.
func i32s(params int, result bool) signature {
	s := signature{params: strings.Repeat(string(rune(typeI32)), params)}
	if result {
		s.results = string(rune(typeI32))
	}
	return s
}
