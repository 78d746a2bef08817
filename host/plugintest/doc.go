// Package plugintest tests a plugin in any language (a transport, an auth provider or a policy)
// without a server. It runs the module in the sandbox of the host, with a clock,
// randomness and a server of its own, and compares what the plugin does with scenarios.
//
//	report, err := plugintest.Run(ctx, module, plugintest.Options{})
//	fmt.Print(report.Text(30))
//
// A plugin's own test is one line. It fails with the trace of the failed check:
//
//	func TestPlugin(t *testing.T) { plugintest.Test(t, "pigeon.wasm") }
//
// README.md describes the scenarios, which are files that other hosts can use as well. It also
// says what the kit finds out about a plugin by itself, and describes the profile, with which an
// author tells the kit the rest.
package plugintest
