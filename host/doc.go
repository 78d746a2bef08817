// Package host is an MCP client host: it connects to Model Context Protocol
// servers over transports that are sandboxed Wasm plugins, speaks both eras of
// the protocol with them (up to 2025-11-25, and from 2026-07-28 on), and hands
// out sessions.
//
//	h, err := host.New(ctx, host.Config{Plugins: plugins.Builtin()})
//	s, err := h.Connect(ctx, host.Server{Name: "files", Command: "mcp-files"})
//	result, err := s.CallTool(ctx, "read", map[string]any{"path": "notes.md"})
//
// Begin reading at [New], [Host.Connect] and [Session.CallTool].
//
// One call goes down through these packages, and its answer comes up again:
//
//	caller    session.CallTool(ctx, …)                                result ◄──┐
//	  ▼                                                                         │
//	session   the dialect of the server's era, _meta, paging                    │
//	  ▼                                                                         │
//	rpc       encode once · assign id · remember     classify once · resolve id
//	  ▼                                                                         ▲
//	guest     one owner at a time; a bounded mailbox of events                  │
//	  ▼ event(MESSAGE)                     import deliver(exchange, off, len) ──┘
//	  the plugin: framing, headers, resumption     ▲ event(DATA | END | TIMER)
//	  ▼                                            │
//	capability   open, write, close under a grant ──► processes, sockets, timers
//	  ▼
//	server
//
// Down is calls, up is events. A plugin steers and the host carries: bytes of a
// message stay in host buffers unless the plugin looks at them, JSON is parsed
// once, in the host, and a plugin opens only what the server entry grants.
//
// # Host
//
// A [Config] configures a [Host]: its plugins, the folders in which it keeps things, and the
// callbacks that ask the person. [Config.Client] describes the program to servers, and
// answers their requests. [Host.AddClient] makes a session with a client of its own.
//
// # Sessions
//
// A session is a logical connection. The host keeps a real connection for it: it dials
// when the server is first needed, and again when the connection is lost for any reason,
// as [Config.Reconnect] says. If only a person can help, for example by signing in,
// it does not retry, see package signin. Each dial reads the entry, its grants, its sign-in
// and its plugin anew.
//
// # Calls
//
// The methods of a [Session] are the requests of the protocol: CallTool, ListTools,
// ReadResource and so on, and Call for any other. Each waits for its answer, for as long as
// its context and the Timeout of the server allow. [WithOptions] sets options of a call, such
// as a callback for its progress. [Session.Relay] is for a program that forwards the requests
// of other clients: it returns results and errors byte for byte.
//
// # Status
//
// Host.Add adds a server without starting it. Host.Servers and Host.Watch report the
// states of all servers, see package status. Host.Apply compares the servers with those of
// another configuration: it closes, adds and reloads only those that differ.
//
// # Errors
//
// Every call ends exactly once. The text of its error names the outermost operation first
// ("call echo on files: …"). errors.Is finds the sentinels of this package in it, and
// errors.As finds an [*RPCError] (the server answered with an error) or a [*PluginError]
// (the plugin was refused or stopped). [ErrNotSent] and [MaybeSent] tell whether the
// server has the request of a call that was lost. [Hint] says what to do next.
//
// # Concurrency
//
// Everything may be used from any goroutine. A context bounds the call that it is given
// to, and not the session that the call returns.
//
// # Plugins from files
//
// A module that is not in Config.Plugins is looked at and compiled in a process of
// its own, which can be killed. That process is the program itself, if the first
// line of its main is
//
//	if len(os.Args) == 2 && os.Args[1] == "plugin-worker" {
//		log.SetFlags(0)
//		if err := host.RunWorker(os.Stdin, os.Stdout); err != nil {
//			log.Fatal(err)
//		}
//		return
//	}
//
// and Config.Worker names it: []string{os.Args[0], "plugin-worker"}. Without a
// Worker, modules are compiled in this process, and large ones are refused.
package host
