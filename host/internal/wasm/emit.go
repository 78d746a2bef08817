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
	code := e.locals(e.scratch[:0], b, s)
	code = e.charge(code, s.regions[0].weight, inline)
	if s.wrapped() {
		code = e.wrap(code, b, s, typ, sig)
	} else {
		code = append(code, b.code...)
	}
	e.scratch = code
	return append(appendU32(out, uint32(len(code))), code...)
}

// wrap appends the code of b inside the blocks that its charges branch out of.
func (e *emit) wrap(code []byte, b *body, s *scan, typ uint32, sig signature) []byte {
	cost := s.shape.bytes()
	if s.deepens() {
		code = e.descend(code, cost)
	}
	code = append(code, opBlock, blockEmpty, opBlock)
	code = e.blockType(code, typ, sig)
	code = e.edited(code, b.code, s)
	if s.deepens() {
		code = e.ascend(code, cost)
	}
	return append(code, opReturn, opEnd, opUnreachable, opEnd)
}

// wrapped reports whether the body needs the blocks around it.
func (s *scan) wrapped() bool { return s.charges || s.bulk || s.reference || s.deepens() }

// largeLeaf is the stack above which a function that calls nothing pays for
// depth as well. A smaller one adds to a stack only once.
const largeLeaf = 16 << 10

func (s *scan) deepens() bool { return s.calls > 0 || s.shape.bytes() > largeLeaf }

// locals appends the groups of b, and the scratch local of bulk operations.
func (e *emit) locals(out []byte, b *body, s *scan) []byte {
	if !s.bulk {
		return append(appendU32(out, uint32(b.groups)), b.locals...)
	}
	out = append(appendU32(out, uint32(b.groups+1)), b.locals...)
	return append(out, 1, typeI32)
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

// descend appends code that takes native stack for one call from its budget; ascend appends
// code that gives it back.
func (e *emit) descend(out []byte, cost int64) []byte {
	out = appendU32(append(out, opGlobalGet), e.depth)
	out = appendS64(append(out, opI32Const), cost)
	out = appendU32(append(out, opI32Sub, opGlobalSet), e.depth)
	out = appendU32(append(out, opGlobalGet), e.depth)
	return append(out, opI32Const, 0, opI32LtS, opIf, blockEmpty, opUnreachable, opEnd)
}

func (e *emit) ascend(out []byte, cost int64) []byte {
	out = appendU32(append(out, opGlobalGet), e.depth)
	out = appendS64(append(out, opI32Const), cost)
	return appendU32(append(out, opI32Add, opGlobalSet), e.depth)
}

// blockType appends the type of a block that leaves what the function returns.
func (e *emit) blockType(out []byte, typ uint32, sig signature) []byte {
	switch len(sig.results) {
	case 0:
		return append(out, blockEmpty)
	case 1:
		return append(out, sig.results[0])
	default:
		return appendS64(out, int64(e.blockTypes[typ]))
	}
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
