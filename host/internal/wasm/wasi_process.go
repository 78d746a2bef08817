package wasm

var wasiProcess = []hostFunc{
	call("sched_yield", "", func(*Instance, []uint64) errno { return success }),
	{
		module:    wasiModule,
		name:      "proc_exit",
		signature: signature{params: string(rune(typeI32))},
		price:     wasiCall,
		run: func(in *Instance, stack []uint64) {
			in.stop(&Trap{Kind: TrapExit, Code: uint32(stack[0])})
		},
	},
}
