// Package restarttest tests a transport where the kit of plugintest ends: with its real
// counterpart, which is killed and comes back. The counterpart is whatever the
// transport depends on, such as a daemon in between, or the server itself.
//
//	func TestRestart(t *testing.T) {
//		restarttest.Run(t, restarttest.Trial{
//			Config: host.Config{Files: map[string]config.Plugin{"pigeon": {Name: "pigeon", File: "pigeon.wasm"}}},
//			Entry:  host.Server{Name: "loft", Transport: "pigeon", Address: "unix:" + socket},
//			Start:  func(t *testing.T) { … },
//			Kill:   func(t *testing.T) { … },
//		})
//	}
//
// The server at the end has the tools echo and trigger-long-running-operation of
// the reference server "everything". Use that server, or [NewServer].
// Nothing here waits for a time to pass: a trial waits for a sign from the counterpart, the
// server or the host.
package restarttest
