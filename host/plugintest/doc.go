// Package plugintest tests a plugin, a transport or an auth provider, in whatever
// language it was written, without a server: it runs the module in the sandbox of
// the host, with a clock, randomness and a world that are the kit's own, and holds
// what it does against scenarios.
//
//	report, err := plugintest.Run(ctx, module, plugintest.Options{})
//	fmt.Print(report.Text(30))
//
// A plugin's own test is one line, which fails with the trace of what went wrong:
//
//	func TestPlugin(t *testing.T) { plugintest.Test(t, "pigeon.wasm") }
//
// The scenarios are files that other hosts can use as well; README.md describes
// them, what can be tested of a plugin that nobody knows, and the profile with
// which an author tells the rest.
package plugintest
