package mcp

// The revisions of the protocol that a host can speak. They are dates, so they
// compare as text (2026-07-28/basic/versioning).
const (
	Version20241105 = "2024-11-05"
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
	Version20260728 = "2026-07-28"
)

// The newest revision of each era, which a client offers first.
const (
	LatestLegacy = Version20251125
	LatestModern = Version20260728
)

// Era is one of the two ways in which client and server begin to talk.
type Era string

// The eras. The zero value stands for a revision that this package does not know.
const (
	Legacy Era = "legacy" // opens with initialize
	Modern Era = "modern" // no handshake; _meta on every request
)

// EraOf returns the era that a revision belongs to, or "" for one that this package does not
// know. It does not assume that an unknown later date is modern: that revision may demand
// something else of a client.
func EraOf(version string) Era {
	switch version {
	case Version20241105, Version20250326, Version20250618, Version20251125:
		return Legacy
	case Version20260728:
		return Modern
	}
	return ""
}
