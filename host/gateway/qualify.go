package gateway

import (
	"encoding/json"
	"strings"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// What the aggregate changes in the results and notifications of servers: the ids of tasks, and the
// URIs that several servers list. Everything else passes byte for byte.

// metaRelatedTask names the task that a result is about (2025-11-25/basic/utilities/tasks).
const metaRelatedTask = "io.modelcontextprotocol/related-task"

// renameResult returns a result of the server with the names of the aggregate.
func (b *backend) renameResult(method string, result json.RawMessage) json.RawMessage {
	if namesTask(result) {
		result = b.withTaskIDs(result)
	}
	o := b.aggregate.servers.owners()
	if !o.anyShared() {
		return result
	}
	switch method {
	case mcp.MethodReadResource:
		return eachOf(result, "contents", func(c json.RawMessage) json.RawMessage { return o.qualifyMember(b.server.Name, c, "uri") })
	case mcp.MethodCallTool:
		return eachOf(result, "content", func(c json.RawMessage) json.RawMessage { return o.qualifyBlock(b.server.Name, c) })
	case mcp.MethodGetPrompt:
		return eachOf(result, "messages", func(m json.RawMessage) json.RawMessage {
			return edit(m, change{"content", o.qualifyBlock(b.server.Name, member(m, "content"))})
		})
	}
	return result
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

// renameParams returns the params of a server's notification with the names of the aggregate.
func (b *backend) renameParams(method string, params json.RawMessage) json.RawMessage {
	if method == mcp.NotificationResourceUpdated {
		params = b.aggregate.servers.owners().qualifyMember(b.server.Name, params, "uri")
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

// anyShared reports whether there is a URI that several servers list.
func (o *owners) anyShared() bool { return o.sharedURIs > 0 }

// eachOf returns an object in which do has changed each element of an array.
func eachOf(object json.RawMessage, array string, do func(json.RawMessage) json.RawMessage) json.RawMessage {
	value := member(object, array)
	if len(value) == 0 || value[0] != '[' {
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

// qualifyMember returns an object in which the member called name, a URI of the server, is the
// URI on the aggregate.
func (o *owners) qualifyMember(server string, object json.RawMessage, name string) json.RawMessage {
	if uri := text(object, name); o.shared(uri) {
		return edit(object, change{name, quote(qualify(server, uri))})
	}
	return object
}

// qualifyBlock is qualifyMember for a block of content: a link to a resource, or a resource that is
// embedded.
func (o *owners) qualifyBlock(server string, block json.RawMessage) json.RawMessage {
	switch text(block, "type") {
	case mcp.ContentResourceLink:
		return o.qualifyMember(server, block, "uri")
	case mcp.ContentResource:
		return edit(block, change{"resource", o.qualifyMember(server, member(block, "resource"), "uri")})
	}
	return block
}

// qualifyElement is qualifyMember for an element of a list. Tools name the page that shows them.
func (o *owners) qualifyElement(server string, kind catalogue.Kind, item json.RawMessage) json.RawMessage {
	if !o.anyShared() {
		return item
	}
	if name := uriMembers[kind]; name != "" {
		return o.qualifyMember(server, item, name)
	}
	page := meta(item, "ui")
	if uri := text(page, "resourceUri"); strings.HasPrefix(uri, pages) && o.shared(uri) {
		return editMeta(item, change{"ui", o.qualifyMember(server, page, "resourceUri")})
	}
	return item
}
