package gateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What the aggregate changes in the results and notifications of servers: the ids of tasks, and the
// URIs that another server may have as well. Everything else passes byte for byte.

// metaRelatedTask names the task that a result is about (2025-11-25/basic/utilities/tasks).
const metaRelatedTask = "io.modelcontextprotocol/related-task"

// renameResult returns the server's result of a request of the client with the names of the aggregate.
func (b *backend) renameResult(r *request, result json.RawMessage) json.RawMessage {
	if namesTask(result) {
		result = b.withTaskIDs(result)
	}
	switch r.method {
	case mcp.MethodReadResource:
		uri := text(r.params, "uri")
		n := b.naming(func(form string) bool { return form == uri })
		return eachOf(result, "contents", func(c json.RawMessage) json.RawMessage { return n.member(c, "uri") })
	case mcp.MethodCallTool:
		if n := b.naming(nil); n.owners.several {
			return eachOf(result, "content", n.block)
		}
	case mcp.MethodGetPrompt:
		if n := b.naming(nil); n.owners.several {
			return eachOf(result, "messages", func(m json.RawMessage) json.RawMessage { return replaced(m, "content", n.block) })
		}
	}
	return result
}

// naming returns the naming for one message of the server. asked says in which forms the client has asked the
// server for URIs; nil for none.
func (b *backend) naming(asked func(form string) bool) *uriNaming {
	return &uriNaming{owners: b.aggregate.servers.owners(), server: b.server.Name, asked: asked}
}

// noteSubscription keeps the form of a URI of the server that a legacy client subscribes to, until it
// unsubscribes.
func (b *backend) noteSubscription(r *request) {
	a, uri := b.aggregate, text(r.params, "uri")
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.method == mcp.MethodUnsubscribe:
		delete(a.subscribed, uri)
	case r.method == mcp.MethodSubscribe && len(a.subscribed) < maxSubscriptions:
		a.subscribed[uri] = b.server.Name
	}
}

// unsubscribed returns the server that a legacy client unsubscribes from, and the server's own URI: of the
// subscription that the client has, whichever server the URI is read from meanwhile. Without one, or for
// another method, the server is "".
func (a *aggregate) unsubscribed(method, uri string) (server, own string) {
	if method != mcp.MethodUnsubscribe {
		return "", ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	server = a.subscribed[uri]
	if named, own, ok := unqualify(uri); ok && named == server {
		return server, own
	}
	return server, uri
}

// asked reports whether a legacy client has subscribed to a resource of the server by this form of its URI.
func (b *backend) asked(form string) bool {
	a := b.aggregate
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.subscribed[form] == b.server.Name
}

// namesTask reports whether a result, or params, can have the id of a task. It looks at the members, because
// to search 1 MB of text takes longer than to pass it on.
func namesTask(object json.RawMessage) bool {
	r := strictjson.Read(object).Unbounded()
	for name := range r.Object() {
		switch string(name) {
		case "task", "tasks", "taskId":
			return true
		case "_meta":
			if member(r.Raw(), metaRelatedTask) != nil {
				return true
			}
		}
	}
	return false
}

// withTaskIDs returns a result, or params, with the ids that tasks have on the aggregate.
func (b *backend) withTaskIDs(object json.RawMessage) json.RawMessage {
	rename := func(task json.RawMessage) json.RawMessage {
		id := text(task, "taskId")
		if id == "" {
			return task
		}
		return edit(task, change{"taskId", quote(taskID(b.server.Name, id))})
	}
	object = rename(object)
	if task := member(object, "task"); isObject(task) {
		object = edit(object, change{"task", rename(task)})
	}
	object = editRelatedTask(object, func(id string) string { return taskID(b.server.Name, id) })
	return eachOf(object, "tasks", rename)
}

// renameParams returns the params of a server's notification with the names of the aggregate. asked says by
// which forms the client has asked for changes of the server's resources.
func (b *backend) renameParams(method string, params json.RawMessage, asked func(form string) bool) json.RawMessage {
	if method == mcp.NotificationResourceUpdated {
		params = b.naming(asked).member(params, "uri")
	}
	if namesTask(params) {
		params = b.withTaskIDs(params)
	}
	return params
}

// renameQuestion returns the params of a server's request with the names of the aggregate: the id of the
// task that it is about, and its progress token, because another server may use the same one. Other ids
// in params are the client's own.
func (b *backend) renameQuestion(params json.RawMessage) json.RawMessage {
	if token := meta(params, mcp.MetaProgressToken); token != nil {
		params = editMeta(params, change{mcp.MetaProgressToken, quote(taskID(b.server.Name, string(token)))})
	}
	return editRelatedTask(params, func(id string) string { return taskID(b.server.Name, id) })
}

// ownAnswer undoes renameQuestion in the client's answer: it returns the result with the server's
// own names.
func (b *backend) ownAnswer(result json.RawMessage) json.RawMessage {
	return editRelatedTask(result, func(id string) string {
		if server, own, ok := ownTaskID(id); ok && server == b.server.Name {
			return own
		}
		return id
	})
}

// editRelatedTask returns an object in which rename has changed the id of the task that the object
// is about, if there is one.
func editRelatedTask(object json.RawMessage, rename func(string) string) json.RawMessage {
	related := meta(object, metaRelatedTask)
	id := text(related, "taskId")
	if id == "" {
		return object
	}
	return editMeta(object, change{metaRelatedTask, edit(related, change{"taskId", quote(rename(id))})})
}

// splitToken returns the server and its own progress token from params of a client's progress. ok is false
// if renameQuestion has not made the token.
func splitToken(params json.RawMessage) (server string, token json.RawMessage, ok bool) {
	server, own, ok := ownTaskID(text(params, "progressToken"))
	token = json.RawMessage(own)
	return server, token, ok && json.Valid(token)
}

// eachOf returns an object in which do has changed each element of an array. If do changes none, it is the
// object itself.
func eachOf(object json.RawMessage, array string, do func(json.RawMessage) json.RawMessage) json.RawMessage {
	value := member(object, array)
	if len(value) == 0 || value[0] != '[' || !changesAny(value, do) {
		return object
	}
	all := []byte{'['}
	r := strictjson.Read(value).Unbounded() // each element is dropped before the next
	for i := range r.Array() {
		if i > 0 {
			all = append(all, ',')
		}
		all = append(all, do(r.Raw())...)
	}
	return edit(object, change{array, append(all, ']')})
}

// changesAny reports whether do changes an element of an array, which is large at times.
func changesAny(array json.RawMessage, do func(json.RawMessage) json.RawMessage) bool {
	r := strictjson.Read(array).Unbounded()
	for range r.Array() {
		if element := json.RawMessage(r.Raw()); !bytes.Equal(do(element), element) {
			return true
		}
	}
	return false
}

// replaced returns an object in which do has changed a member. If do does not change it, it is the object
// itself.
func replaced(object json.RawMessage, name string, do func(json.RawMessage) json.RawMessage) json.RawMessage {
	value := member(object, name)
	if other := do(value); !bytes.Equal(other, value) {
		return edit(object, change{name, other})
	}
	return object
}

// member returns an object in which the member called name, a URI of the server, has the form that it has
// on the aggregate.
func (n *uriNaming) member(object json.RawMessage, name string) json.RawMessage {
	uri := text(object, name)
	if form := n.form(uri); form != uri && uri != "" {
		return edit(object, change{name, quote(form)})
	}
	return object
}

// block is member for a block of content: a link to a resource, or a resource that is embedded.
func (n *uriNaming) block(block json.RawMessage) json.RawMessage {
	switch text(block, "type") {
	case mcp.ContentResourceLink:
		return n.member(block, "uri")
	case mcp.ContentResource:
		return replaced(block, "resource", func(r json.RawMessage) json.RawMessage { return n.member(r, "uri") })
	}
	return block
}

// listed is member for an element of a list. Tools name the page that shows them.
func (n *uriNaming) listed(kind catalogue.Kind, item json.RawMessage) json.RawMessage {
	if !n.owners.several {
		return item
	}
	if name := uriMembers[kind]; name != "" {
		return n.member(item, name)
	}
	page := meta(item, "ui")
	if strings.HasPrefix(text(page, "resourceUri"), pages) {
		if named := n.member(page, "resourceUri"); !bytes.Equal(named, page) {
			return editMeta(item, change{"ui", named})
		}
	}
	return item
}
