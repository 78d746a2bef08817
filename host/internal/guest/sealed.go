package guest

import "github.com/wharf-mcp/wharf/abi"

// A sealed payload is what signs in to the server of a stream, brought by its
// OPENED. The guest says where in the stream it goes, with forward, and every
// other host call that reaches a payload keeps it from the guest. Nothing here
// writes it anywhere else: not to the trace, not into an error, not into the
// memory that the next event may use.

// Sealed is described at [hostio.Sink].
func (s *sink) Sealed(blob []byte) {
	s.inst.post(item{kind: abi.EventOpened, handle: s.handle, arg: abi.Sealed, payload: blob})
}

// sealed reports whether the payload is not for the guest to see.
func (it *item) sealed() bool { return it.kind == abi.EventOpened && it.arg&abi.Sealed != 0 }

// forwardSealed queues a part of the sealed payload to the one handle that it is
// for. It is queued where it lies: a copy in the stash would stay there.
func (i *Instance) forwardSealed(number uint32, h *handle, p []byte, end bool) abi.Status {
	if number != i.current.handle {
		return abi.Denied
	}
	i.current.forwarded = i.current.forwarded || len(p) > 0
	i.write(h, p, end)
	return abi.OK
}

// dropSealed lets go of the sealed payload when its event is over, and tells the user
// of a guest that has had no use for it.
func (i *Instance) dropSealed() {
	if !i.current.forwarded && i.failure == nil && i.log != nil {
		i.log(abi.LevelWarn, sealedUnused)
	}
	i.current = item{}
}

// sealedUnused is written after the name of the plugin.
const sealedUnused = "it opened a stream and did not forward what signs in to the server: the blob of the auth provider was dropped"
