package guest

import "github.com/wharf-mcp/wharf/abi"

// What is here is for a conformance kit, which looks at a guest from closer by
// than a host does. It is called by the owner alone: see [Config.SingleThreaded].

// SendUnknown brings an event of a kind that no version of the ABI knows yet. Kinds
// that this version knows, or a host uses inside, are ignored.
func (i *Instance) SendUnknown(kind abi.Kind, handle, arg uint32, payload []byte) {
	if kind > abi.EventClose && kind < eventDrained {
		i.post(item{kind: kind, handle: handle, arg: arg, payload: payload})
	}
}

// Used is the fuel that the last event took, host calls included.
func (i *Instance) Used() int64 { return i.executor.Used() }

// Pages is the size of the guest's memory, in pages of 64 KiB.
func (i *Instance) Pages() uint32 { return i.executor.Pages() }
