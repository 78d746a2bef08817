// Package process starts programs: servers that a guest talks to ([Process] as a
// target), commands that are run to their end ([Process.Run]), workers that talk with
// the host alone ([Process.StartPiped]), and programs of the person ([Launch]). It is
// the only package of Wharf that may import os/exec.
//
// A process runs in a group of its own (a job object on Windows), and its end ends the
// group. It inherits a short list of variables and no secret.
package process
