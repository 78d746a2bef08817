package wasm

import (
	"errors"
	"fmt"
	"slices"
)

// What the metered form of a module may have more of than the module.
const (
	keptGrowth = 16      // times its bytes, and
	keptSpare  = 1 << 20 // bytes
)

// matches says why a metered form that comes from the cache cannot be one of m. What
// passes is bounded as m is, for wazero makes room for what a module announces; it has
// the imports and exports of m, the gauges that the host reads, and no start section,
// which nothing would stop. Whether its code pays its charges cannot be seen here: who
// writes into the cache writes native code as well.
func (m *image) matches(metered []byte) error {
	limits := m.limits
	limits.Size = min(keptGrowth*m.size()+keptSpare, maxCacheFile)
	limits.Body = limits.Size
	limits.Functions += m.limits.Names + m.limits.Types // shims and switchboards
	limits.Types += 2 * m.limits.Types                  // of blocks and switchboards
	limits.Globals += gauges
	limits.Names += gauges
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
	return m.matchesExports(kept)
}

// matchesExports compares the exports of a metered form with those of m.
func (m *image) matchesExports(kept *image) error {
	n := len(m.exports)
	if len(kept.exports) != n+gauges {
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
	for i, want := range []struct {
		name string
		typ  byte
	}{{fuelGlobal, typeI64}, {budgetGlobal, typeI64}, {depthGlobal, typeI32}} {
		k := kept.exports[n+i]
		if k.name != want.name || k.kind != externGlobal || kept.globals[k.index] != (globalType{want.typ, true}) {
			return fmt.Errorf("%s is not what the host reads", want.name)
		}
	}
	return nil
}

// keeps reports whether a metered form that was found in the cache is to be used. One
// that is not is made anew, or, where nothing is made here, is a SpoiledError.
func (m *image) keeps(metered []byte, found, precompiled bool) (bool, error) {
	if !found {
		return false, nil
	}
	err := m.matches(metered)
	if err != nil && precompiled {
		return false, &SpoiledError{err}
	}
	return err == nil, nil
}
