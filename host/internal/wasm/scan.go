package wasm

import "fmt"

// scan reads one function body once and plans how to meter it: where the charges are and
// how large, which returns become branches, which bulk operations have a price. It does
// not change the body; emit.go does that.
//
// A region is code that runs at most once after its charge. The base region of
// a function is charged at its entry, that of a loop at its header, since
// between two passes of the header control only moves forward. Two kinds of
// place may start a region of their own, because control cannot enter the code
// behind them but through them: an arm of an if, and the code that follows the
// end of a block inside its parent. A region of the latter kinds that weighs
// too little to be worth a check is charged with the region around it, which
// always runs first.
type scan struct {
	m         *image
	c         cursor
	fn        int
	frames    []frame
	regions   []region
	edits     []edit
	locals    int // with parameters
	calls     int
	blocks    int
	branches  int
	bulk      bool
	charges   bool  // somewhere past its entry
	owed      int64 // the weight of all regions that pay late
	reference bool  // takes a reference to a function
	tables    bool  // reads or writes a table
	shape     stack
	cost      effort
}

// frame is one open block.
type frame struct {
	op      byte
	region  int // the region that pays for the next code of this block
	around  int // region in force where an if began
	height  int // operands below the block
	results int
	params  int
	sets    int // assignments to locals before the block

	ends      meeting // where its branches lead: behind its end, or back to a loop
	otherwise path    // of an if: before its else
}

type region struct {
	weight   int64
	around   int // the region that pays if this one is too light; -1 for none
	optional bool
	late     bool // pays without a check whether it could
}

// edit is one change at an offset of the body; edits are in order of offset. A body
// may have one for every other byte, so an edit is small.
type edit struct {
	at   int32
	arg  uint32 // region, label of the wrapping block, log2 of the bulk price, type, or function
	trap int32  // label of the way out for a charge that cannot be paid
	size uint8  // bytes of the instruction that is replaced
	kind editKind
}

type editKind uint8

const (
	editCharge editKind = iota
	editReturn
	editBulk
	editIndirect
	editReference
)

// lightest is the weight under which an optional region is merged into the region around it. A
// lower value charges more exactly and checks more often.
const lightest = 12

// mostOwed is the most that all regions of a function that pay late may weigh together. To check
// whether a charge could be paid takes a basic block of native code, and a module in Go has twenty
// such regions for each function. Between two checks (at the entry of a function, at a loop header,
// at the end of a function) each of them runs at most once. So this is the work that can be done
// beyond a budget: ten microseconds, or a hundred if it waits for memory.
const mostOwed = 10_000

// atMost ends the reading if found is more than limit. item says for the error what was counted: a
// format, which gets the number of the function.
func (s *scan) atMost(item string, found, limit int, unit string) {
	if found > limit {
		s.c.atMost(fmt.Sprintf(item, s.fn), uint64(found), limit, unit)
	}
}

func (s *scan) top() *frame { return &s.frames[len(s.frames)-1] }

// alive returns how many values a block that begins here has to keep at most.
func (s *scan) alive() int { return s.locals + s.shape.height }

// wrapped reports whether the body needs the blocks around it.
func (s *scan) wrapped() bool { return s.charges || s.bulk || s.reference || s.deepens() }

// largeLeaf is the size in bytes of the native stack above which a function that calls nothing pays
// for its depth as well. A smaller one adds to a stack only once.
const largeLeaf = 16 << 10

func (s *scan) deepens() bool { return s.calls > 0 || s.shape.bytes() > largeLeaf }
