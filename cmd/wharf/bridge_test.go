package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// greeting opens a session, and calls a tool of the demo server, which has to be there for that.
func greeting(tool string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"a":1,"b":2}}}` + "\n"
}

// bridgingEditor starts wharf with further words, on its own stdin or on a pipe, says its id when a
// server has answered the call of a tool behind it, and stays.
func bridgingEditor() {
	cmd := exec.Command("wharf", os.Args[3:]...)
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
		_, err = io.WriteString(stdin, greeting(os.Args[2]))
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
