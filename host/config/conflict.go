package config

import "strings"

// conflictMarkers begin the lines with which git has both sides of a conflict in a file (git-merge, "HOW CONFLICTS ARE
// PRESENTED").
var conflictMarkers = []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"}

// conflict returns the error of a file that cannot be read because git has left a conflict in it, or nil.
func conflict(path, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		for _, marker := range conflictMarkers {
			if line == marker || strings.HasPrefix(line, marker+" ") {
				return &Error{File: path, Line: n, Problem: "is a conflict marker of git; resolve the conflict, and take its markers out"}
			}
		}
	}
	return nil
}
