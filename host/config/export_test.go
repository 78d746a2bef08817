package config

import "slices"

// ForeignUsed returns all keys that are read of an entry of another client.
func ForeignUsed() []string { return slices.Clone(foreignUsed) }
