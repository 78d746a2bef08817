package wasm

// effort is an upper estimate of what compiling one function takes. A unit is 100 ns of one
// processor or 100 bytes of memory, whichever gives the larger estimate for an honest or
// hostile function; TestEffortBoundsWhatCompilingTakes holds the bytes.
//
// Most of it grows with the code. To count the costs that grow faster, effort follows the
// basic blocks that wazero makes:
//   - the value of a local is looked up by stepping back through the blocks, once for
//     every read, and, where paths meet, once for every path and local;
//   - values that are alive are listed for every block;
//   - a local that was set on a path is passed along it to where paths meet;
//   - for every block, the blocks that always come before it are walked;
//   - a local is merged again in each loop around it;
//   - a call loads every mutable global again;
//   - every block keeps a list of the addresses that were compared with the size of
//     memory before it.
type effort struct {
	units  int
	nodes  int // basic blocks
	labels int // of branch tables
	loops  int // loops that are open
	reads  int // of locals
	walks  int // blocks to step back through for one local, for all places where paths meet
	here   path
}

// path is the code before a place.
type path struct {
	length    int // blocks in a row, back to where paths meet
	addresses int // that were compared with the size of memory
}

// meeting is the place that the branches of a frame lead to.
type meeting struct {
	paths     int
	walks     int // lengths of all the paths together
	addresses int // the fewest of any path
}

// meterGlobals is how many mutable globals the meter adds.
const meterGlobals = 3

// The prices that the tables of instructions (optable.go) do not have.
const (
	functionEffort = 300
	nodeEffort     = 30
	callEffort     = 25
	valueEffort    = 9  // for each value that a call takes or leaves
	reloadEffort   = 2  // for each mutable global, at each call
	aliveEffort    = 3  // for each value that a block has to keep
	carryEffort    = 2  // for each value that is passed along a path
	mergeEffort    = 2  // for each local and loop, in each loop around that
	labelEffort    = 40 // for each label of a branch table
	bulkNodes      = 8  // blocks of a bulk operation, with its price
	stepsPerUnit   = 12 // blocks, of looking a local up
	walksPerUnit   = 40 // blocks, of walking all that come before
	listedPerUnit  = 4  // addresses that a block lists
	forgotPerUnit  = 64 // addresses that a call forgets
)

// block counts a basic block that begins here, where alive values have to be kept.
func (e *effort) block(alive int) {
	e.nodes++
	e.units += nodeEffort + aliveEffort*alive + e.here.addresses/listedPerUnit
}

// leads counts a path from here to the place where the branches of a frame meet. Along the path
// that many operands are passed.
func (e *effort) leads(to *meeting, operands int) {
	to.join(e.here)
	e.units += carryEffort*operands + e.here.addresses/listedPerUnit
}

func (m *meeting) join(p path) {
	if m.paths == 0 || p.addresses < m.addresses {
		m.addresses = p.addresses
	}
	m.paths++
	m.walks += p.length + 1
}

// meet continues at the place where the paths of a frame meet. set is how many locals were set in
// the frame.
func (e *effort) meet(m *meeting, set int) {
	e.merge(m, set)
	e.here = path{addresses: m.addresses}
}

// merge counts the cost of a place at which several paths meet: each local has to lie in the
// same register or slot on all of them.
func (e *effort) merge(m *meeting, set int) {
	e.walks += m.walks
	e.units += carryEffort * m.paths * set
}

// read counts the look-ups of a local, a global or the bounds of memory.
func (e *effort) read(times int) { e.units += times * e.here.length / stepsPerUnit }

// call counts a call, or another way out of native code, that passes that many values.
func (e *effort) call(values, mutable int) {
	e.units += callEffort + valueEffort*values + reloadEffort*mutable + e.here.addresses/forgotPerUnit
}

// sum returns the estimate for a function that has been read and has that many locals.
func (e *effort) sum(locals int) int {
	return e.units + e.nodes*(e.nodes+e.labels)/walksPerUnit + e.walks*min(locals, e.reads)/stepsPerUnit
}
