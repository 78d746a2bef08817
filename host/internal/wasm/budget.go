package wasm

const (
	EventBudget        = 10_000_000
	InitBudget         = 100_000_000
	FuelPerPayloadByte = 64
	StackBudget        = 2 << 20
)
