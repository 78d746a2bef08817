package wasm

// emit writes bodies in their metered form, which is
//
//	block $trap
//	  charge for the entry and for the stack
//	  block $out (the function's results)
//	    the body, with its charges, which leave by $trap
//	  end
//	  give back the stack
//	  leave by $trap if a charge that was not checked could not be paid
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

// body appends the metered form of b, size first.
func (e *emit) body(out []byte, b *body, s *scan, typ uint32, sig signature) []byte {
	groups, scratch := b.groups, []byte(nil)
	if s.bulk { // a local for lengths
		groups, scratch = groups+1, []byte{1, typeI32}
	}
	code := append(append(appendU32(e.scratch[:0], uint32(groups)), b.locals...), scratch...)
	code = e.pay(code, s.regions[0].weight)
	if s.wrapped() {
		cost := s.shape.bytes()
		if s.deepens() {
			code = e.takeDepth(code, opI32Sub, cost)
		}
		code = e.owes(append(code, opBlock, blockEmpty))
		if s.deepens() {
			code = appendU32(append(code, opGlobalGet), e.depth)
			code = append(code, opI32Const, 0, opI32LtS, opI32Or)
		}
		code = append(code, opBrIf, 0, opBlock)
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
		if s.owed > 0 {
			code = append(e.owes(code), opBrIf, 0)
		}
		code = append(code, opReturn, opEnd, opUnreachable, opEnd)
	} else {
		code = append(e.owes(code), opIf, blockEmpty, opUnreachable, opEnd)
		code = append(code, b.code...)
	}
	e.scratch = code
	return append(appendU32(out, uint32(len(code))), code...)
}

// edited appends a copy of code in which the edits of s are made.
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
			r := s.regions[d.arg]
			if out = e.pay(out, r.weight); !r.late {
				out = appendU32(append(e.owes(out), opBrIf), uint32(d.trap))
			}
		case editBulk:
			out = e.price(out, uint32(s.locals), int(d.arg), uint32(d.trap))
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

// pay appends code that takes a fixed weight of fuel. It does not check whether the fuel is below
// zero afterwards.
func (e *emit) pay(out []byte, weight int64) []byte {
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = append(appendS64(append(out, opI64Const), weight), opI64Sub)
	return appendU32(append(out, opGlobalSet), e.fuel)
}

// price appends code that takes fuel by the length on top of the stack, and leaves the
// length there.
func (e *emit) price(out []byte, scratch uint32, shift int, trap uint32) []byte {
	out = appendU32(append(out, opLocalSet), scratch)
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = appendU32(append(out, opLocalGet), scratch)
	out = append(out, opI64ExtendI32U)
	if shift > 0 {
		out = append(out, opI64Const, byte(shift), opI64ShrU)
	}
	out = appendU32(append(out, opI64Sub, opGlobalSet), e.fuel)
	out = appendU32(append(e.owes(out), opBrIf), trap)
	return appendU32(append(out, opLocalGet), scratch)
}

// owes appends code that puts on the stack whether the fuel is below zero.
func (e *emit) owes(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), e.fuel)
	return append(out, opI64Const, 0, opI64LtS)
}

// takeDepth appends code that takes the native stack of one call from the stack budget if op is
// opI32Sub, or gives it back if op is opI32Add.
func (e *emit) takeDepth(out []byte, op byte, cost int64) []byte {
	out = appendU32(append(out, opGlobalGet), e.depth)
	out = appendS64(append(out, opI32Const), cost)
	return appendU32(append(out, op, opGlobalSet), e.depth)
}

// shim appends the body of an export: it sets the fuel to the budget, resets the depth, and calls
// target. An engine sets the budget before each call; elsewhere it is the budget that the module
// was metered with.
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
