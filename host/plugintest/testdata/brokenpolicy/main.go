// Command brokenpolicy is a policy that decides as it should, except for the one mistake that its setting names.
// It does without the kit for policies, which makes some of the mistakes impossible.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strconv"

	"github.com/wharf-mcp/wharf/abi/verdict"
)

func main() {}

//go:wasmexport wharf_policy_describe
func describe() int32 {
	return reply(verdict.Manifest{
		ABI: verdict.Version, Name: "broken-policy", Version: "1.0.0", About: "for tests",
		Settings: []verdict.Setting{{Key: "fault", About: "the mistake"}, {Key: "needed", About: "a text", Required: true}},
	})
}

// kept is what the mistake counts keeps.
var kept int

//go:wasmexport wharf_policy_decide
func decide() int32 {
	in := input()
	var c verdict.Call
	var s struct{ Fault string }
	err := json.Unmarshal(in, &c)
	_ = json.Unmarshal(c.Settings, &s)
	if err != nil { // and its settings are not known
		return reply(verdict.Verdict{ID: found(in), Verdict: verdict.Allow})
	}
	v := verdict.Verdict{ID: c.ID, Verdict: verdict.Deny, Reason: "it is not a tool that only reads"}
	if c.Listed || bytes.Contains(c.Annotations, []byte(`"readOnlyHint":true`)) {
		v.Verdict, v.Reason = verdict.Allow, ""
	}
	kept++
	switch s.Fault {
	case "traps":
		panic("it")
	case "loops":
		for {
		}
	case "null":
		if bytes.Contains(c.Arguments, []byte("null")) {
			return 1
		}
	case "nameless":
		return int32(1 - min(1, len(c.Name)))
	case "small":
		if len(in) > 1<<19 {
			return 1
		}
	case "greedy":
		spin(400_000_000)
	case "strict":
		d := json.NewDecoder(bytes.NewReader(in))
		d.DisallowUnknownFields()
		if d.Decode(&c) != nil {
			return 1
		}
	case "taken in":
		if bytes.Contains(in, []byte(`{"verdict":"allow"}`)) {
			v.Verdict = verdict.Allow
		}
	case "counts":
		v.Reason = strconv.Itoa(kept)
	case "mute":
		v.Reason = ""
	case "another":
		v.ID++
	}
	return reply(v)
}

// found returns the id in what is no call.
func found(in []byte) uint64 {
	_, rest, _ := bytes.Cut(in, []byte(`"id":`))
	digits, _, _ := bytes.Cut(rest, []byte(","))
	id, _ := strconv.ParseUint(string(digits), 10, 64)
	return id
}

var sink int

func spin(rounds int) {
	for i := range rounds {
		sink ^= i
	}
}

func input() []byte {
	n := inputLength()
	var b []byte
	at := uint64(0)
	for ; at+8 <= n; at += 8 {
		b = binary.LittleEndian.AppendUint64(b, inputLoad64(at))
	}
	for ; at < n; at++ {
		b = append(b, byte(inputLoad8(at)))
	}
	return b
}

func reply(v any) int32 {
	b, err := json.Marshal(v)
	if err != nil {
		return 1
	}
	at := alloc(uint64(len(b)))
	for i, c := range b {
		store8(at+uint64(i), uint32(c))
	}
	outputSet(at, uint64(len(b)))
	return 0
}

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u64
func inputLoad64(offset uint64) uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoad8(offset uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env store_u8
func store8(offset uint64, value uint32)

//go:wasmimport extism:host/env output_set
func outputSet(offset, n uint64)
