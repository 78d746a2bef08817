// Wharf-conformance is the client that the official conformance suite drives:
// for each of its scenarios the suite serves a URL, runs
//
//	MCP_CONFORMANCE_SCENARIO=tools_call wharf-conformance http://localhost:1234/mcp
//
// and judges the client's messages on the wire. The client connects as any program that embeds
// Wharf does, with nothing set for the suite's sake, and runs the steps that [scenarios] has for
// the scenario.
//
// Stdout says for people what was done. Stderr has one line if a step failed, and is empty
// otherwise. The suite does not judge how its client ends, so the person who runs the suite
// should look there.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// patience is how long a scenario may take. The suite kills its client after 30 s, and an error
// of the client before that says more.
const patience = 25 * time.Second

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "wharf-conformance:", err)
		os.Exit(1)
	}
}

// run is the whole program.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	j, err := newJob(args, getenv)
	if err != nil {
		return err
	}
	c, err := connect(ctx, j, out)
	if err != nil {
		return err
	}
	defer c.close()
	for _, step := range steps(j.scenario) {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
