package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// taskFlags are the flags of call that are about tasks and the log.
type taskFlags struct {
	task, detach bool
	ttl          time.Duration
	level        string
}

// register defines the flags, which belong to call and its shorthand.
func (f *taskFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.task, "task", false, "have the server run the tool as a task, and wait for its result")
	cmd.Flags().BoolVar(&f.detach, "detach", false, "begin a task, print it and leave; see wharf task")
	cmd.Flags().Var((*duration)(&f.ttl), "ttl", "ask the server to keep the task for a `DURATION` such as 1h (default: what it likes)")
	cmd.Flags().StringVar(&f.level, "log", "", "print on stderr what the server logs from `LEVEL` up: "+levels())
	cmd.RegisterFlagCompletionFunc("log", cobra.FixedCompletions(levelNames(), cobra.ShellCompDirectiveNoFileComp))
}

// duration is the value of a flag; 0 is none.
type duration time.Duration

func (d *duration) Set(text string) error {
	value, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return errors.New("expected a duration such as 1h, 90s or 500ms")
	case value < 0:
		return errors.New("expected a duration that is not negative")
	}
	*d = duration(value)
	return nil
}

func (d *duration) Type() string { return "duration" }

func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// check returns an error for flags that contradict each other or mean nothing.
func (f *taskFlags) check() error {
	if f.ttl > 0 && !f.task && !f.detach {
		return exit.Usage(errors.New("--ttl is for tasks"), "give it with --task or --detach")
	}
	return checkLevel(f.level)
}

// levels are the levels of a log, for people.
func levels() string { return strings.Join(levelNames(), ", ") }

func levelNames() (names []string) {
	for _, level := range mcp.Levels {
		names = append(names, string(level))
	}
	return names
}

// checkLevel returns an error for a level that does not exist; "" is no level.
func checkLevel(level string) error {
	if level == "" || slices.Contains(mcp.Levels, mcp.Level(level)) {
		return nil
	}
	return exit.Usage(fmt.Errorf("unknown level %q", level), "levels are %s", levels())
}
