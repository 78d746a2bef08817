package wasm

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// Func is an exported function of one instance.
type Func struct {
	in     *Instance
	name   string
	native api.Function // with a stack of 10 KiB; nil after a rest, until it is called
	params int
	result bool
	stack  []uint64 // what is passed and returned
}

// Export returns the exported function of that name, or nil. It is looked up
// once: wazero makes a stack for each function it hands out.
func (i *Instance) Export(name string) *Func {
	if f, ok := i.funcs[name]; ok {
		return f
	}
	native := i.module.ExportedFunction(name)
	if native == nil {
		return nil
	}
	d := native.Definition()
	params, results := len(d.ParamTypes()), len(d.ResultTypes())
	f := &Func{
		in: i, name: name, native: native,
		params: params, result: results > 0, stack: make([]uint64, max(params, results)),
	}
	i.funcs[name] = f
	return f
}

// Call runs the function with budget units of fuel. A call that traps ends the
// instance; its error is a *Trap. Call allocates nothing unless it fails, or is
// the first after a rest.
func (f *Func) Call(budget int64, args ...uint32) (result uint32, err error) {
	in := f.in
	if len(args) != f.params {
		return 0, fmt.Errorf("called with %d arguments, takes %d", len(args), f.params)
	}
	if err := in.enter(); err != nil {
		return 0, err
	}
	if f.native == nil {
		f.native = in.module.ExportedFunction(f.name)
	}
	in.budget.Set(uint64(budget))
	for i, a := range args {
		f.stack[i] = uint64(a)
	}
	err = f.native.CallWithStack(&in.ctx, f.stack)
	in.used = budget - int64(in.fuel.Get())
	if err != nil {
		t := in.trapOf(err)
		in.dead.Store(t)
		err = t
	} else if f.result {
		result = uint32(f.stack[0])
	}
	in.leave()
	return result, err
}
