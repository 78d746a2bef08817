package process

// Process is the grant of one child process: its stdin is the write side, its
// stdout is the data. It is started as it stands here, never through a shell.
type Process struct {
	Command string   // a name to look up in PATH, or a path
	Args    []string // without the command itself
	Env     []string // NAME=value, on top of the few variables every child gets
	Dir     string   // the working directory; empty for this process's own
	Bare    bool     // without the variables that every child gets
}
