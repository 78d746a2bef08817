package authtest

import (
	"encoding/json"

	"github.com/wharf-mcp/wharf/abi/step"
)

// Vault holds records in memory. Its zero value is empty.
type Vault struct {
	// Locking is called when a record has been locked and not yet read. A test can write the
	// record here, as a faster process would.
	Locking func(step.RecordKey)

	records map[step.RecordKey]record
	seen    map[step.RecordKey]int // what this flow has loaded or stored last; 0 = nothing was there
	count   int
}

type record struct {
	value      json.RawMessage
	generation int // from 1
}

// begin starts a flow, which has not loaded anything yet.
func (v *Vault) begin() { v.seen = map[step.RecordKey]int{} }

// Put writes a record, as another process would.
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
		v.records = map[step.RecordKey]record{}
	}
	v.count++
	v.records[key] = record{value, v.count}
}

func (v *Vault) load(l *step.Load) *step.Event {
	if l.Lock && v.Locking != nil {
		v.Locking(l.Key)
	}
	r, ok := v.records[l.Key]
	v.seen[l.Key] = r.generation
	if !ok {
		return &step.Event{}
	}
	return &step.Event{Record: &step.Record{Value: r.value}}
}

func (v *Vault) store(key step.RecordKey, value json.RawMessage) {
	v.write(key, value)
	v.seen[key] = v.count
}

// forget removes the record that the flow loaded, unless it was written since. If the flow has
// not loaded the record, forget removes it in any case, as Wharf does.
func (v *Vault) forget(key step.RecordKey) {
	if seen, known := v.seen[key]; !known || seen == v.records[key].generation {
		delete(v.records, key)
	}
}
