package wasm

import (
	"errors"
	"fmt"
	"slices"
)

// How much larger than a module its metered form may be.
const (
	keptGrowth = 16      // times its bytes, and
	keptSpare  = 1 << 20 // bytes
)

// matches returns an error if a metered form from the cache cannot have been made from m. A metered
// form that passes is within limits that are derived from those of m, because wazero allocates what
// a module announces. It has the imports and exports of m, the globals that the host reads, and no
// start section, which would run without a budget. matches cannot tell whether the code pays for
// its work, but a user who can write to the cache can write native code as well.
func (m *image) matches(metered []byte) error {
	limits := m.limits
	limits.Size = min(keptGrowth*m.size()+keptSpare, maxCacheFile)
	limits.Body = limits.Size
	limits.Functions += m.limits.Names + m.limits.Types // shims and dispatchers
	limits.Types += 2 * m.limits.Types                  // of blocks and dispatchers
	limits.Globals += meterGlobals
	limits.Names += meterGlobals
	limits.Locals++
	limits.AllLocals += len(m.bodies)
	limits.Arity++
	kept, err := read(metered, limits)
	switch {
	case err != nil:
		return err
	case kept.starts:
		return errors.New("it has a start section")
	case !slices.EqualFunc(kept.imports, m.imports, func(a, b imported) bool {
		return a.module == b.module && a.name == b.name && a.kind == b.kind && (a.kind != externFunction || kept.types[a.typ] == m.types[b.typ])
	}):
		return errors.New("it has other imports")
	case !slices.Equal(kept.memories, m.memories) || !slices.EqualFunc(kept.tables, m.tables, func(a, b bounds) bool {
		return a.elem == b.elem && a.min <= b.min && (!a.capped || a.max <= m.limits.Table)
	}):
		return errors.New("it has other memories or tables")
	}
	n := len(m.exports)
	if len(kept.exports) != n+meterGlobals {
		return fmt.Errorf("it has %d exports", len(kept.exports))
	}
	for i, e := range m.exports {
		k := kept.exports[i]
		if k.name != e.name || k.kind != e.kind ||
			e.kind == externFunction && kept.types[kept.functions[k.index]] != m.types[m.functions[e.index]] ||
			e.kind != externFunction && k.index != e.index {
			return fmt.Errorf("its export %d is another", i)
		}
	}
	types := [meterGlobals]byte{typeI64, typeI64, typeI32}
	for i, name := range []string{fuelGlobal, budgetGlobal, depthGlobal} {
		k := kept.exports[n+i]
		if k.name != name || k.kind != externGlobal || kept.globals[k.index] != (globalType{types[i], true}) {
			return fmt.Errorf("%s is not what the host reads", name)
		}
	}
	return nil
}
