//go:build !unix

package main

import "os"

// alive is true while there is a process of that id.
func alive(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
