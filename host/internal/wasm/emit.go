package wasm

// emit writes bodies in their metered form, which is
//
//	charge for the entry
//	block $trap
//	  block $out (the function's results)
//	    the body, with its charges, which leave by $trap
//	  end
//	  give back the stack
//	  return
//	end
//	unreachable
//
// Branches to the function's own label already name $out, and a return becomes
// a branch to it, so that the stack is given back in one place. One trap for
// all charges of a function keeps the native code small. A body that is charged
// only at its entry, and not for depth, stays as it is behind that charge.
type emit struct {
	fuel, budget, depth uint32 // our globals
	blockTypes          map[uint32]uint32
	references          map[uint32]uint32 // function to the global that refers to it
	dispatch            map[uint32]uint32 // type of an indirect call to its dispatcher

	scratch []byte // of one body
}

// inline, for a label, means that a charge that cannot be paid traps where it is.
const inline = -1

// body appends the metered form of b, size first.
func (e *emit) body(out []byte, b *body, s *scan, typ uint32, sig signature) []byte {
	groups, scratch := b.groups, []byte(nil)
	if s.bulk { // a local for lengths
		groups, scratch = groups+1, []byte{1, typeI32}
	}
	code := append(append(appendU32(e.scratch[:0], uint32(groups)), b.locals...), scratch...)
	code = e.charge(code, s.regions[0].weight, inline)
	if s.wrapped() {
		cost := s.shape.bytes()
		if s.deepens() {
			code = e.takeDepth(code, opI32Sub, cost)
			code = appendU32(append(code, opGlobalGet), e.depth)
			code = append(code, opI32Const, 0, opI32LtS, opIf, blockEmpty, opUnreachable, opEnd)
		}
		code = append(code, opBlock, blockEmpty, opBlock)
		switch len(sig.results) {
		case 0:
			code = append(code, blockEmpty)
		case 1:
			code = append(code, sig.results[0])
		default:
			code = appendS64(code, int64(e.blockTypes[typ]))
		}
		code = e.edited(code, b.code, s)
		if s.deepens() {
			code = e.takeDepth(code, opI32Add, cost)
		}
		code = append(code, opReturn, opEnd, opUnreachable, opEnd)
	} else {
		code = append(code, b.code...)
	}
	e.scratch = code
	return append(appendU32(out, uint32(len(code))), code...)
}

// edited copies code, with the edits of s made.
func (e *emit) edited(out, code []byte, s *scan) []byte {
	done := 0
	for _, d := range s.edits {
		if d.kind == editCharge && s.regions[d.arg].weight == 0 {
			continue
		}
		dispatcher, relayed := e.dispatch[d.arg]
		if d.kind == editIndirect && !relayed {
			continue
		}
		out = append(out, code[done:d.at]...)
		done = int(d.at) + int(d.size)
		switch d.kind {
		case editCharge:
			out = e.charge(out, s.regions[d.arg].weight, int(d.trap))
		case editBulk:
			out = e.price(out, uint32(s.locals), int(d.arg), int(d.trap))
		case editReturn:
			out = appendU32(append(out, opBr), d.arg)
		case editIndirect:
			out = appendU32(append(out, opCall), dispatcher)
		case editReference:
			out = appendU32(append(out, opGlobalGet), e.references[d.arg])
		}
	}
	return append(out, code[done:]...)
}

// charge appends code that takes a fixed weight of fuel.
func (e *emit) charge(out []byte, weight int64, trap int) []byte {
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = appendS64(append(out, opI64Const), weight)
	return e.spend(out, trap)
}

// price appends code that takes fuel by the length on top of the stack, and leaves the
// length there.
func (e *emit) price(out []byte, scratch uint32, shift, trap int) []byte {
	out = appendU32(append(out, opLocalSet), scratch)
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = appendU32(append(out, opLocalGet), scratch)
	out = append(out, opI64ExtendI32U)
	if shift > 0 {
		out = append(out, opI64Const, byte(shift), opI64ShrU)
	}
	out = e.spend(out, trap)
	return appendU32(append(out, opLocalGet), scratch)
}

// spend appends code that subtracts the top of the stack from the fuel below it, and traps
// if that is negative.
func (e *emit) spend(out []byte, trap int) []byte {
	out = appendU32(append(out, opI64Sub, opGlobalSet), e.fuel)
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = append(out, opI64Const, 0, opI64LtS)
	if trap == inline {
		return append(out, opIf, blockEmpty, opUnreachable, opEnd)
	}
	return appendU32(append(out, opBrIf), uint32(trap))
}

// takeDepth appends code that takes native stack for one call from its budget, by opI32Sub,
// or gives it back, by opI32Add.
func (e *emit) takeDepth(out []byte, op byte, cost int64) []byte {
	out = appendU32(append(out, opGlobalGet), e.depth)
	out = appendS64(append(out, opI32Const), cost)
	return appendU32(append(out, op, opGlobalSet), e.depth)
}

// shim appends the body of an export: set the fuel to the budget, reset the depth,
// call. Under the engine the budget is set before each call; elsewhere it is
// the one the module was metered with.
func (e *emit) shim(out []byte, target uint32, params int) []byte {
	code := []byte{0, opGlobalGet}
	code = appendU32(code, e.budget)
	code = appendU32(append(code, opGlobalSet), e.fuel)
	code = appendS64(append(code, opI32Const), StackBudget)
	code = appendU32(append(code, opGlobalSet), e.depth)
	for i := range params {
		code = appendU32(append(code, opLocalGet), uint32(i))
	}
	code = appendU32(append(code, opCall), target)
	code = append(code, opEnd)
	return append(appendU32(out, uint32(len(code))), code...)
}
