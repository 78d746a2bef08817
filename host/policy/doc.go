// Package policy decides who may call what. It knows rules, callers and calls, and does no I/O.
//
//	[access.agents]
//	match = ["client:claude*", "principal:ci-*"]
//	allow = ["files", "issues/list_*", "prompt:issues/*"]
//	deny  = ["*/delete_*", "resource:files/file:///etc/*"]
//
// A [Table] is about the callers that fit one of its matches, and about what fits its patterns:
//
//   - "server/tool" is a tool, "prompt:server/name" a prompt, and "resource:server/uri" a resource, or a
//     template by its text;
//   - "server" is all of a server, also methods that the protocol does not define;
//   - "*" stands for any characters, in the name of the server and behind it.
//
// All tables that fit a caller count. What one of them denies is denied. If there is an allow among them,
// only what is allowed may be called. Without one, the user who runs the program may call all, and any
// other principal nothing. [Rules] have a layer of tables for each file, and every layer has to agree: so
// the file of a project can only narrow what the user's own file allows.
//
// A deny is compared without regard to case or to space around a name. URIs are compared in their normal form (RFC 3986, section 6;
// for "file" that is the path of the file): an allow in that form alone, a deny also as they are written, and
// as lenient servers read them, without a user and a fragment. A URI with a segment "..", or one that servers
// may read in two ways (with an escaped slash or backslash, a backslash, a control character, or a ".." beyond
// the root) fits no allow but that of all resources or of the whole server; one that may be read in two ways
// is denied where a deny is about resources. The server gets the URI as it was written.
//
// # Where it is asked
//
// host.Config.Deciders are asked in one place, host/access.go, through which each request of a
// host.Session goes: those of the command, of a bridge, of a gateway and of the control protocol. Lists are
// filtered by the same decisions. Policy plugins (host.Config.Policies) are further [Decider]s, which are
// asked behind the [Rules]: a call goes on if all deciders allow it. They see [Call].Annotations and
// [Call].Arguments, which the rules do not look at, and may want a person to be asked ([Question]).
package policy
