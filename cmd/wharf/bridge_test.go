package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// greeting opens a session, and asks so that a server has to be there.
const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"

// bridgingEditor starts a bridge, on its own stdin or on a pipe, says its id when a server answers behind
// it, and stays.
func bridgingEditor() {
	cmd := exec.Command("wharf", "bridge", "-q", "--", "wharf", "demo-server")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	cmd.Stdin = os.Stdin
	var stdin io.WriteCloser
	if held, _ := strconv.ParseBool(os.Args[1]); !held {
		cmd.Stdin = nil
		stdin, _ = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err == nil && stdin != nil {
		_, err = io.WriteString(stdin, greeting)
	}
	answers := bufio.NewReader(stdout)
	for range 2 {
		if err == nil {
			_, err = answers.ReadString('\n')
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cmd.Process.Pid)
	cmd.Wait()
}
