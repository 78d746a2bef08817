package guest

import "github.com/wharf-mcp/wharf/abi"

// These methods are for a conformance kit, which observes a guest more closely than a host does.
// Only the owner may call them: see [Config.SingleThreaded].

// SendUnknown sends an event of a kind that no version of the ABI defines. It ignores a kind that
// this version defines, or that the host uses internally.
func (i *Instance) SendUnknown(kind abi.Kind, handle, arg uint32, payload []byte) {
	if kind > abi.EventClose && kind < eventDrained {
		i.post(&item{kind: kind, handle: handle, arg: arg, payload: payload})
	}
}

// Used returns the fuel that the last event took, host calls included.
func (i *Instance) Used() int64 { return i.executor.Used() }

// Pages returns the size of the guest's memory, in pages of 64 KiB.
func (i *Instance) Pages() uint32 { return i.executor.Pages() }
