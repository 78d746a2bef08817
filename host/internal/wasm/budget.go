package wasm

const (
	EventBudget        = 20_000_000
	InitBudget         = 200_000_000
	FuelPerPayloadByte = 64
	StackBudget        = 2 << 20
)
