package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// bindingOwn are the clients in which a person's own file of servers and settings binds the servers of projects too.
// Claude Code and Cursor keep what they deny in files of its own, see readOwn.
var bindingOwn = []string{"amp", "crush", "gemini", "opencode", "qwen", "vscode", "zed"}

// ownDocuments reads a person's own files of a client, for what they forbid to the servers of a file that is none of
// them. One that cannot be read is warned of, since it may forbid something.
func ownDocuments(c *client, path string) (docs []*document, warnings []string) {
	if c == nil || !slices.Contains(bindingOwn, c.id) || slices.Contains(placesHere(c.files), path) {
		return nil, nil
	}
	for _, own := range placesHere(c.files) {
		info, err := os.Stat(own)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var text []byte
		switch {
		case err == nil && !info.Mode().IsRegular():
			err = &Error{File: own, Problem: "is no regular file"}
		case err == nil:
			text, err = readFile(own)
		}
		if err == nil {
			text, err = decode(own, text)
		}
		var doc *document
		if err == nil && len(text) > 0 {
			doc, err = readDocument(own, text)
		}
		switch {
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("%v; what it forbids is not known", err))
		case doc != nil:
			docs = append(docs, doc)
		}
	}
	return docs, warnings
}
