package wasm

// stack estimates, from above, the native stack that one call of a function takes. wazero gives a
// slot to each value that outlives a call or finds no register. A value that outlives a call was on
// the operand stack or in a local at that call. Either the value was made since the call before, or
// it has its slot already.
type stack struct {
	locals  int
	height  int // operands now
	made    int // values made since the last call
	slots   int
	sets    int // assignments to locals so far
	passing int // most values passed to or from one callee
	relayed int // most values passed through a dispatcher, plus 1; 0 without
	wide    bool
}

// registers is how many operands are taken to fit into registers.
const registers = 6

func (t *stack) move(o *opcode, floor int) {
	t.height = max(t.height-int(o.pop), floor)
	t.push(int(o.push))
}

func (t *stack) push(n int) {
	t.height += n
	t.made += n
	if t.height > registers {
		t.slots += n
	}
}

func (t *stack) call(params, results, floor int) {
	t.height = max(t.height-params, floor)
	t.slots += min(t.made, t.height+t.locals)
	t.made = 0
	t.passing = max(t.passing, params+results)
	t.push(results)
}

// bytes returns the estimate.
func (t *stack) bytes() int64 {
	slot := int64(8)
	if t.wide {
		slot = 16
	}
	all := 80 + slot*int64(t.slots+t.passing)
	if t.relayed > 0 {
		all += 80 + slot*2*int64(t.relayed)
	}
	return all
}
