// Package pluginbuild builds a plugin from Go source, transport or auth provider,
// as the plugins of Wharf itself are built: with a toolchain that is pinned, so that
// the same source gives the same file on every machine, and with the data of the
// module joined, which halves what it takes to start.
//
//	module, err := pluginbuild.Build(ctx, pluginbuild.Options{Dir: "pigeon"})
//	fmt.Println(module.File, module.SHA256) // pigeon/pigeon.wasm, and what to pin
//
// It runs the go command of the user, and nothing else.
package pluginbuild
