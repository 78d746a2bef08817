package step

import (
	"bytes"
	"encoding/json"
)

// HasState reports whether a flow has left a state: anything but nothing, null or an object
// without members. A provider that signs requests is called for them only if its last flow left
// one. The host and the conformance kit for providers both use it.
func HasState(state json.RawMessage) bool {
	inner, isObject := bytes.CutPrefix(bytes.TrimSpace(state), []byte("{"))
	if isObject {
		return !bytes.Equal(bytes.TrimSpace(inner), []byte("}"))
	}
	return len(inner) > 0 && !bytes.Equal(inner, []byte("null"))
}
