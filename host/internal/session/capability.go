package session

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ErrUnsupported says that the server does not offer the requested feature. Nothing was sent.
var ErrUnsupported = errors.New("the server does not offer it")

// capability is a feature that a server has to declare before a client may use it
// (2025-11-25/basic/lifecycle#operation). Tools are no capability here, because some servers have
// tools and do not declare them.
type capability struct {
	name  string   // for people
	path  []string // of the member of the capabilities that declares it
	since string   // the first revision with the declaration; "" is the oldest
}

// The capabilities of servers. The last one says that the server lists the tasks that it keeps;
// modern servers have no such list.
var (
	hasResources   = &capability{name: "resources", path: []string{"resources"}}
	hasPrompts     = &capability{name: "prompts", path: []string{"prompts"}}
	hasLogging     = &capability{name: "logging", path: []string{"logging"}}
	hasCompletions = &capability{name: "completion", path: []string{"completions"}, since: mcp.Version20250326}
	hasUpdates     = &capability{name: "subscriptions to resources", path: []string{"resources", "subscribe"}}
	hasTaskList    = &capability{name: "a list of tasks", path: []string{"tasks", "list"}}
)

// lacks returns an error if the server of l does not declare the capability. A server that declared
// no capabilities at all may have any.
func (l *agreedConn) lacks(a *capability) error {
	if a == nil || l.info.Capabilities == nil || l.dialect.revision < a.since || l.declares(a.path...) {
		return nil
	}
	return &unsupportedError{want: a.name, have: namesOf(l.info.Capabilities)}
}

// declares reports whether the capabilities have a value at path other than null and false.
func (l *agreedConn) declares(path ...string) bool {
	value := []byte(l.info.Capabilities)
	for _, name := range path {
		value = member(value, name)
	}
	kind := strictjson.Read(value).Kind()
	return kind != 0 && kind != 'n' && kind != 'f'
}

// namesOf lists the members of an object for an error text: the first few, and how many more there
// are.
func namesOf(object []byte) (names []string) {
	r, more := strictjson.Read(object), 0
	for name := range r.Object() {
		if len(names) == mcp.MaxNames {
			more++
			continue
		}
		names = append(names, clipText(name))
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return names
}

// unsupportedError is an [ErrUnsupported] that names what the server declares instead.
type unsupportedError struct {
	want string
	have []string
	why  string // if not "", the reason, in place of what the server declares
}

func (e *unsupportedError) Error() string {
	have := "it declares nothing"
	if len(e.have) > 0 {
		have = "it declares " + strings.Join(e.have, ", ")
	}
	return fmt.Sprintf("the server does not offer %s: %s", e.want, cmp.Or(e.why, have))
}

// Is reports true for [ErrUnsupported], and for [rpc.ErrNotSent] because nothing was sent.
func (e *unsupportedError) Is(target error) bool {
	return target == ErrUnsupported || target == rpc.ErrNotSent
}
