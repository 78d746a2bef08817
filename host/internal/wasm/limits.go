package wasm

// Limits bound what Load accepts, before anything is compiled: compilation
// cannot be cancelled, and some shapes make it quadratic. A zero field takes
// its default. The defaults leave a plain Go guest (see the figures) a factor
// of three to ten.
type Limits struct {
	Size        int    // bytes of the file
	Functions   int    // functions, imported ones included
	Body        int    // bytes of one function body
	Locals      int    // locals and parameters of one function
	Nesting     int    // depth of blocks in one function
	Blocks      int    // blocks of one function
	Targets     int    // labels of one br_table
	Effort      int    // what compiling all of it takes, see image.effort
	Table       uint32 // entries of one table, now and ever
	Tables      int    // tables
	MemoryPages uint32 // pages of 64 KiB an instance may start with
	Segments    int    // data and element segments, each
	Globals     int    // globals
	Names       int    // imports and exports, each
	Types       int    // function types
	Arity       int    // parameters, and results, of one type
}

var defaultLimits = Limits{
	Size:        8 << 20,
	Functions:   20_000,
	Body:        512 << 10,
	Locals:      2_000,
	Nesting:     1_000,
	Blocks:      4_000,
	Targets:     10_000,
	Effort:      32 << 20,
	Table:       64 << 10,
	Tables:      8,
	MemoryPages: 256,
	Segments:    100_000,
	Globals:     10_000,
	Names:       1_000,
	Types:       10_000,
	Arity:       100,
}

// filled returns l with its zero fields set to their defaults.
func (l Limits) filled() Limits {
	d := defaultLimits
	fill(&l.Size, d.Size)
	fill(&l.Functions, d.Functions)
	fill(&l.Body, d.Body)
	fill(&l.Locals, d.Locals)
	fill(&l.Nesting, d.Nesting)
	fill(&l.Blocks, d.Blocks)
	fill(&l.Targets, d.Targets)
	fill(&l.Effort, d.Effort)
	fill(&l.Table, d.Table)
	fill(&l.Tables, d.Tables)
	fill(&l.MemoryPages, d.MemoryPages)
	fill(&l.Segments, d.Segments)
	fill(&l.Globals, d.Globals)
	fill(&l.Names, d.Names)
	fill(&l.Types, d.Types)
	fill(&l.Arity, d.Arity)
	return l
}

func fill[T int | uint32](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
