package pluginstore

import (
	"cmp"
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// versionPattern matches a version of semver.org 2.0.0, perhaps after a "v".
var versionPattern = lazyregexp.New(`^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)` +
	`(?:-((?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*))?` +
	`(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?$`)

// CompareVersions compares two versions by the precedence of semver.org 2.0.0, section 11. order
// is -1 if a is the older one, 1 if b is, and 0 if neither is. ok is false if one of them is not
// such a version.
func CompareVersions(a, b string) (order int, ok bool) {
	x, y := versionPattern.FindStringSubmatch(a), versionPattern.FindStringSubmatch(b)
	if x == nil || y == nil {
		return 0, false
	}
	for i := 1; i <= 3; i++ {
		if order = compareNumbers(x[i], y[i]); order != 0 {
			return order, true
		}
	}
	return comparePreReleases(x[4], y[4]), true
}

// compareNumbers compares decimal numbers of any length that begin with no zero.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// comparePreReleases compares the texts after the "-". "" stands for the release itself, which
// comes after all pre-releases.
func comparePreReleases(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		order := strings.Compare(x, y)
		switch xNumber, yNumber := isNumber(x), isNumber(y); {
		case xNumber && yNumber:
			order = compareNumbers(x, y)
		case xNumber:
			return -1 // numbers come before words
		case yNumber:
			return 1
		}
		if order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a), len(b)) // the longer one is the later one
}

func isNumber(text string) bool { return strings.Trim(text, "0123456789") == "" }
