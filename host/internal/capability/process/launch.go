package process

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// CommandLine returns the path and the arguments of a program. words are the program and its first
// arguments. arg replaces %s in them, or comes last. The result is nil if there is no such program.
// A program is a name in the PATH of env or an absolute path, never one that depends on the working
// directory.
func CommandLine(words []string, arg string, env []string) (argv []string) {
	if len(words) == 0 || words[0] == "" || filepath.Base(words[0]) != words[0] && !filepath.IsAbs(words[0]) {
		return nil
	}
	path, err := Process{Command: words[0]}.locate(env)
	if err != nil {
		return nil
	}
	argv = append([]string{path}, words[1:]...)
	if at := slices.Index(argv, "%s"); at > 0 {
		argv[at] = arg
	} else {
		argv = append(argv, arg)
	}
	if checkBatch(path, argv[1:]) != nil {
		return nil
	}
	return argv
}

// Launch starts a program for the person, detached from our terminal. The program may outlive this
// process. If it ends within limit and before ctx ends, Launch returns its error; otherwise nil.
func Launch(ctx context.Context, argv, env []string, limit time.Duration) error {
	cmd := &exec.Cmd{Path: argv[0], Args: argv, Env: env}
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return explainRun(capability.Cause(err))
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the program, which may be the browser
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}
