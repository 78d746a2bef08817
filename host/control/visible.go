package control

import (
	"crypto/sha256"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/policy"
)

// seenList is a known list of a server, as an editor may see it.
type seenList struct {
	editor  uint64
	server  string
	session *host.Session
	kind    catalogue.Kind
}

// changedKinds are the events that tell of a change of a list.
var changedKinds = map[catalogue.Kind]EventKind{
	catalogue.Tools: ToolsChanged, catalogue.Prompts: PromptsChanged, catalogue.Resources: ResourcesChanged, catalogue.Templates: ResourcesChanged,
}

// caller returns who the editor is to rules and policies.
func (e *editor) caller() *policy.Caller {
	return &policy.Caller{Kind: policy.Control, Name: e.hello.Client.Name}
}

// visible returns hashes of the known lists as the editors may see them.
func (c *Control) visible() map[seenList][sha256.Size]byte {
	seen := make(map[seenList][sha256.Size]byte)
	if !c.host.NeedsCaller() {
		return seen
	}
	c.mu.Lock()
	editors, servers := append([]*editor(nil), c.editors...), c.servers
	c.mu.Unlock()
	for name, s := range servers {
		if s.session == nil {
			continue
		}
		known := s.session.Snapshot()
		if known == nil {
			continue
		}
		for kind, list := range known.Lists {
			for _, e := range editors {
				seen[seenList{e.number, name, s.session, kind}] = sha256.Sum256(c.host.Shown(e.caller(), name, kind, list.Items))
			}
		}
	}
	return seen
}

// tellOfAccess tells editors which lists changed, for at least one editor, since visible returned before. All
// editors hear the same events.
func (c *Control) tellOfAccess(before map[seenList][sha256.Size]byte) {
	type change struct {
		server string
		kind   EventKind
	}
	told := make(map[change]bool)
	for list, now := range c.visible() {
		at := change{list.server, changedKinds[list.kind]}
		if was, known := before[list]; known && was != now && !told[at] {
			told[at] = true
			c.events.add(Event{Kind: at.kind, Server: at.server})
		}
	}
}
