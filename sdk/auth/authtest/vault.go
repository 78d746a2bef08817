package authtest

import (
	"encoding/json"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Vault holds records in memory. Its zero value is empty.
type Vault struct {
	// Locking is called when a record has been locked and is not yet read: it is
	// where another process has been faster.
	Locking func(step.RecordKey)

	records map[step.RecordKey]record
	seen    map[step.RecordKey]int // the generation that was loaded last
	count   int
}

type record struct {
	value      json.RawMessage
	generation int
}

// Put writes a record, as another process does.
func (v *Vault) Put(key step.RecordKey, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	v.write(key, b)
}

// Get decodes a record into out and reports whether there is one.
func (v *Vault) Get(key step.RecordKey, out any) bool {
	r, ok := v.records[key]
	return ok && json.Unmarshal(r.value, out) == nil
}

// Keys returns the keys of all records that are called name.
func (v *Vault) Keys(name string) []step.RecordKey {
	var keys []step.RecordKey
	for key := range v.records {
		if key.Name == name {
			keys = append(keys, key)
		}
	}
	return keys
}

func (v *Vault) write(key step.RecordKey, value json.RawMessage) {
	if v.records == nil {
		v.records, v.seen = map[step.RecordKey]record{}, map[step.RecordKey]int{}
	}
	v.count++
	v.records[key] = record{value, v.count}
}

func (v *Vault) load(l *step.Load) *step.Event {
	if l.Lock && v.Locking != nil {
		v.Locking(l.Key)
	}
	r, ok := v.records[l.Key]
	if !ok {
		return &step.Event{}
	}
	v.seen[l.Key] = r.generation
	return &step.Event{Record: &step.Record{Value: r.value}}
}

func (v *Vault) store(key step.RecordKey, value json.RawMessage) {
	v.write(key, value)
	v.seen[key] = v.count
}

// forget removes what was loaded, and not what was written since.
func (v *Vault) forget(key step.RecordKey) {
	if r, ok := v.records[key]; ok && r.generation == v.seen[key] {
		delete(v.records, key)
	}
}
