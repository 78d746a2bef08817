package sdk

import "github.com/wharf-mcp/wharf/abi"

// Host is the other side of the wall: the host calls of the ABI, all through
// one method. A guest inside a sandbox gets one that calls the imports of
// [abi.Module]; a native test passes its own to [NewGuest].
//
// args are the integers of the call in the order of the ABI, without its
// pointer and length, which data stands for: take fills data, every other call
// reads it. data belongs to the guest again when Call returns.
type Host interface {
	Call(op abi.Call, args [4]uint32, data []byte) int32
}
