package wasm

// Budgets, in units of fuel. The weights (optable.go) and these figures belong
// together: BenchmarkWorst spends EventBudget in every slow way that is known, and
// BenchmarkGuestEvent shows what honest work costs.
//
// Measured on two cores of an EPYC at 16 MiB of memory, in nanoseconds a unit:
// following pointers through all of memory 9.2, stores all over memory 2.8,
// table.grow 1.1, rounding floats and filling memory 0.9, square
// roots 0.7, everything else under 0.5. So EventBudget lasts a hostile guest
// 92 ms at worst, and most of them under 10.
//
// A plain Go guest spends about 2.4 million on _initialize, and on an event of
// 64 KiB with 1,024 lines 1.5 million (bytes.IndexByte) to 4 million (byte by
// byte, a host call for each line).
const (
	// EventBudget is for one event. Metered forms carry it as their own default,
	// for runtimes that set none.
	EventBudget = 10_000_000

	// InitBudget is for _initialize, which for some languages sets up a heap, a
	// scheduler and every package's variables.
	InitBudget = 100_000_000

	// FuelPerPayloadByte is the fuel to add to EventBudget for each byte of an event's payload, so
	// that guests that read every byte have as much for each. A stream of small events that a Go
	// guest splits label by label costs about 220 a byte.
	FuelPerPayloadByte = 512

	// StackBudget is the native stack of one call and all calls within it, in bytes as estimated by
	// stack.bytes, which is about ten times what wazero takes. wazero doubles a stack from 10 KiB
	// on. With this budget hostile recursion was seen to end at 2.6 MiB; without it, at 84 MiB.
	StackBudget = 8 << 20
)
