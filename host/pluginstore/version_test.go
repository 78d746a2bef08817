package pluginstore

import "testing"

// The order of semver.org 2.0.0, section 11.
func TestCompareVersions(t *testing.T) {
	ascending := []string{
		"0.9.9", "1.0.0-0", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta",
		"1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "v1.0.1", "1.2.0", "1.10.0", "2.0.0", "99999999999999999999.0.0",
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i != j {
				want = map[bool]int{true: -1, false: 1}[i < j]
			}
			if got, ok := CompareVersions(a, b); !ok || got != want {
				t.Errorf("%s and %s: %d, %v; want %d", a, b, got, ok, want)
			}
		}
	}
	if order, ok := CompareVersions("1.0.0+one", "v1.0.0+two"); order != 0 || !ok {
		t.Errorf("a build counts: %d, %v", order, ok)
	}
	for _, no := range []string{"", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-01", "1.0.0-", "newer", "1.0.0 ", " 1.0.0", "1.0.0\n", "vv1.0.0", "-1.0.0"} {
		if _, ok := CompareVersions(no, "1.0.0"); ok {
			t.Errorf("%q is a version", no)
		}
		if _, ok := CompareVersions("1.0.0", no); ok {
			t.Errorf("%q is a version", no)
		}
	}
}

// FuzzCompareVersions: the order is the same seen from both sides, and each version
// is as old as itself.
func FuzzCompareVersions(f *testing.F) {
	for _, text := range []string{"1.0.0", "1.0.0-alpha.1", "v1.2.3-rc.10+x", "", "1.0.0-0.00a"} {
		f.Add(text, "1.0.0-alpha")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, ok := CompareVersions(a, b)
		y, okToo := CompareVersions(b, a)
		if ok != okToo || x != -y {
			t.Errorf("%q and %q: %d, %v and %d, %v", a, b, x, ok, y, okToo)
		}
		if same, ok := CompareVersions(a, a); ok && same != 0 {
			t.Errorf("%q is not as old as itself: %d", a, same)
		}
	})
}

// What minisign writes into a trusted comment, and what a publisher may write.
func TestReadComment(t *testing.T) {
	for text, want := range map[string]comment{
		"": {},
		"timestamp:1700000000\tfile:pigeon.wasm\thashed":       {File: "pigeon.wasm", Signed: 1700000000},
		"plugin:pigeon version:1.2.0 timestamp:1 plugin:other": {Plugin: "pigeon", Version: "1.2.0", Signed: 1},
		"timestamp:-1 file: as alice":                          {},
		"timestamp:99999999999999999999":                       {},
	} {
		if got := readComment(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

// FuzzReadComment: what is read was written.
func FuzzReadComment(f *testing.F) {
	f.Add("timestamp:1700000000\tfile:pigeon.wasm\thashed")
	f.Add("plugin:pigeon version:1.2.0")
	f.Fuzz(func(t *testing.T, text string) {
		c := readComment(text)
		if c.Signed < 0 || len(c.Plugin)+len(c.Version)+len(c.File) > len(text) {
			t.Errorf("%q: %+v", text, c)
		}
	})
}
