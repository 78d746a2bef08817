package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// bindingOwn are the clients whose file of a person's servers also has settings that bind the servers of projects.
// Claude Code and Cursor keep what they deny in other files, which readOwn reads.
var bindingOwn = []string{"amp", "crush", "gemini", "opencode", "qwen", "vscode", "zed"}

// ownDocuments reads the person's own files of a client. Their settings forbid tools and servers of the project's file
// at path too. If path is one of the own files, ownDocuments reads nothing. It warns of a file that it cannot read,
// which may forbid something.
func ownDocuments(c *client, path string) (docs []*document, warnings []string) {
	if c == nil || !slices.Contains(bindingOwn, c.id) || slices.Contains(placesHere(c.files), path) {
		return nil, nil
	}
	for _, own := range placesHere(c.files) {
		text, err := readRegular(own)
		if errors.Is(err, fs.ErrNotExist) {
			continue
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
