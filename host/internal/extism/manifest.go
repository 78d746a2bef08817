package extism

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Bounds of a manifest.
const (
	maxManifest = 64 << 10
	maxSettings = 100
)

var (
	nameShape    = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)
	settingShape = lazyregexp.New(`^[a-z][a-z0-9_-]{0,63}$`)
	versionShape = lazyregexp.New(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`)
)

// DecodeManifest decodes a manifest, which has a bounded size.
func DecodeManifest(b []byte, m any) error {
	if len(b) > maxManifest {
		return Violationf("its manifest has %d bytes, there may be %d", len(b), maxManifest)
	}
	if err := Decode(b, m); err != nil {
		return Violationf("its manifest is not of the contract: %v", err)
	}
	return nil
}

// CheckManifest checks what the manifests of all kinds have. spoken is the version of the contract that the
// host speaks. People read manifests in lists, so every text must have a fixed form or is cleaned: those of the
// settings are.
func CheckManifest(spoken, abi, name, version string, settings []step.Setting) error {
	switch {
	case abi != spoken:
		return Violationf("it is built for %q, this host speaks %s", cleantext.Line(abi, 64), spoken)
	case !nameShape.MatchString(name):
		return Violationf("it calls itself %q: a name has small letters, digits and hyphens", cleantext.Line(name, 64))
	case !versionShape.MatchString(version):
		return Violationf("its version is %q", cleantext.Line(version, 64))
	case len(settings) > maxSettings:
		return Violationf("it has %d settings, there may be %d", len(settings), maxSettings)
	}
	seen := map[string]bool{}
	for i := range settings {
		s := &settings[i]
		s.Kind = cmp.Or(s.Kind, step.SettingText)
		if settingKinds[s.Kind].like == nil {
			return Violationf("its setting %q is a %q, which is no kind of setting", cleantext.Line(s.Key, 64), cleantext.Line(s.Kind, 64))
		}
		if !settingShape.MatchString(s.Key) || seen[s.Key] {
			return Violationf("its setting %q has no name of its own", cleantext.Line(s.Key, 64))
		}
		s.About = cleantext.Line(s.About, 200)
		seen[s.Key] = true
	}
	return nil
}

// settingKinds maps each kind of setting to a value of its JSON type and a name for people.
var settingKinds = map[string]struct {
	like any
	name string
}{
	step.SettingText:  {"", "a text"},
	step.SettingFlag:  {false, "true or false"},
	step.SettingList:  {[]any{}, `a list of texts, ["…", "…"]`},
	step.SettingTable: {map[string]any{}, `a table of texts, { name = "…" }`},
}

// CheckValues compares the values of a table with the settings of a manifest. Its errors quote no value. It
// reports an unknown key before a missing one, because the first may be a misspelling of the
// second.
func CheckValues(table string, known []step.Setting, values map[string]any) error {
	keys := make([]string, len(known))
	for i, s := range known {
		keys[i] = s.Key
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("%s.%s: there is no such key; there are %s", table, cleantext.Line(key, 64), strings.Join(keys, ", "))
		}
	}
	for _, s := range known {
		v, given := values[s.Key]
		kind := settingKinds[cmp.Or(s.Kind, step.SettingText)]
		switch {
		case !given && s.Required:
			return fmt.Errorf("%s.%s is missing: %s", table, s.Key, cleantext.Line(s.About, 200))
		case given && reflect.TypeOf(v) != reflect.TypeOf(kind.like):
			return fmt.Errorf("%s.%s: expected %s", table, s.Key, kind.name)
		}
	}
	return nil
}
