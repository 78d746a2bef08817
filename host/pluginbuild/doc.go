// Package pluginbuild builds a plugin, a transport or an auth provider, from Go source.
// It uses a pinned toolchain, so that the same source gives the same file on every
// machine, and joins the data segments of the module, which halves the time to start.
//
//	module, err := pluginbuild.Build(ctx, pluginbuild.Options{Dir: "pigeon"})
//	fmt.Println(module.File, module.SHA256) // pigeon/pigeon.wasm, and what to pin
//
// It runs the go command of the user, and nothing else.
package pluginbuild
