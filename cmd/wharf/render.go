package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/picture"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/save"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// renderer turns one result into text for people, and saves the bytes in it if --save asks for
// that.
type renderer struct {
	app    *app
	folder *save.Folder // nil saves nothing
	err    error        // the first error of saving

	terminal picture.Protocol // how stdout shows pictures
	tried    int              // how many images of the result were tried
	pictures strings.Builder  // the sequences that make the terminal show the pictures of the result
}

func (a *app) newRenderer() *renderer {
	r := &renderer{app: a}
	if a.OutTTY && a.forPeople() {
		r.terminal = picture.Of(os.Getenv)
	}
	if a.flags.save != "" {
		r.folder = &save.Folder{Dir: a.flags.save}
	}
	return r
}

// checkFolder returns an error if --save names what can be no folder: a tool that has acted should
// not be called again for that.
func (a *app) checkFolder() error {
	if a.flags.save == "" {
		return nil
	}
	if err := (&save.Folder{Dir: a.flags.save}).Check(); err != nil {
		return exit.Usage(fmt.Errorf("--save: %w", err), "name a folder; it is made if it is not there")
	}
	return nil
}

// needed reports whether a renderer has anything to do. A program that saves nothing gets the
// result as it came.
func (r *renderer) needed() bool { return r.folder != nil || r.app.forPeople() }

// print writes a result to stdout. For a person, write prints the text that render returns; a
// program gets the result as it came.
func (r *renderer) print(raw json.RawMessage, write func(string) error, render func() string) error {
	var text string
	if r.needed() {
		text = render()
	}
	if !r.app.forPeople() {
		return cmp.Or(r.app.PrintRaw(raw), r.err)
	}
	return cmp.Or(write(text), r.err)
}

// result returns the text of a tool's result: its blocks, one below the other. The structured
// content usually repeats the text, so it is shown only if there is no text. What it repeats of a
// picture, a sound or a file is left out.
func (r *renderer) result(result *mcp.CallToolResult) string {
	var out strings.Builder
	text, structured := false, result.StructuredContent
	for i := range result.Content {
		block := &result.Content[i]
		text = text || block.Type == mcp.ContentText
		out.WriteString(endLine(r.block(block)))
		data := block.Data
		if block.Resource != nil {
			data = block.Resource.Blob
		}
		if data != "" {
			about, _ := size(data)
			structured = bytes.ReplaceAll(structured, []byte(`"`+data+`"`), []byte(`"[`+about+`, above]"`))
		}
	}
	if !text && len(structured) > 0 {
		out.WriteString(endLine(term.Indented(structured)))
	}
	return out.String()
}

// block returns the text of one block: text as it is, and binary data by its type and size.
func (r *renderer) block(block *mcp.Content) string {
	switch block.Type {
	case mcp.ContentText:
		return r.text(block.Text)
	case mcp.ContentImage, mcp.ContentAudio:
		r.show(block.Data)
		return r.bytes("", block.Type, block.MIMEType, block.Data)
	case mcp.ContentResourceLink:
		return note(block.URI, block.MIMEType, block.Name)
	case mcp.ContentResource:
		return r.resource(block.Resource)
	}
	if block.Raw != nil {
		return term.Indented(block.Raw)
	}
	return note(block.Type)
}

// mostPictures bounds how many images of a result a terminal is given: a small file may hold a
// large picture, and a message thousands of them.
const mostPictures = 16

// show makes the terminal show a picture, if the terminal can. It tries only the first few pictures
// of a result.
func (r *renderer) show(data string) {
	if r.tried == mostPictures {
		return
	}
	r.tried++
	if shown := r.terminal.Sequence(data, r.app.Width); shown != "" {
		r.pictures.WriteString(shown + "\n")
	}
}

// text returns a text as it is. On a terminal it indents a text that is one JSON object or array.
func (r *renderer) text(text string) string {
	document := json.RawMessage(strings.TrimSpace(text))
	if r.app.OutTTY && r.app.flags.output != formatMarkdown && len(document) > 0 && (document[0] == '{' || document[0] == '[') && json.Valid(document) {
		return term.Indented(document)
	}
	return text
}

func (r *renderer) resource(resource *mcp.ResourceContents) string {
	switch {
	case resource == nil:
		return note("empty resource")
	case resource.Blob != "":
		return r.bytes(resource.URI, resource.URI, resource.MIMEType, resource.Blob)
	}
	return resource.Text
}

// bytes returns the text that is printed in place of data in base64: the kind of data, and
// where they were saved. If stdout is for a program, the place goes to stderr.
func (r *renderer) bytes(uri, name, kind, data string) string {
	if data == "" {
		return note(uri, kind, "no data")
	}
	if r.folder == nil {
		about, ok := size(data)
		if ok && r.app.OutTTY {
			about += "; --save DIR writes it to a file"
		}
		return note(uri, kind, about)
	}
	about, _ := size(data)
	path, err := r.folder.Save(name, kind, data)
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return note(uri, kind, about, "not saved")
	}
	switch {
	case r.app.flags.output == formatMarkdown && strings.HasPrefix(kind, "image/"):
		return fmt.Sprintf("![%s](<%s>)", plain.MarkdownLabel(kind), path)
	case r.app.flags.output == formatMarkdown:
		return fmt.Sprintf("[%s](<%s>)", plain.MarkdownLabel(cmp.Or(kind, name)), path)
	case !r.app.forPeople():
		fmt.Fprintf(r.app.Err, "saved %s (%s)\n", path, factList(kind, about))
	}
	return note(uri, kind, about, "saved as "+path)
}

func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// note returns the facts that are not empty, as "[a, b]". It stands for a block that is
// not printed.
func note(facts ...string) string { return "[" + factList(facts...) + "]" }

// factList returns the facts that are not empty, with commas between them.
func factList(facts ...string) string {
	var known []string
	for _, fact := range facts {
		if fact != "" {
			known = append(known, plain.Line(fact))
		}
	}
	return strings.Join(known, ", ")
}

// size returns the size of data in base64, as it is after decoding. It returns false for what cannot be decoded.
func size(data string) (about string, ok bool) {
	bytes, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	switch {
	case err != nil:
		return "data that are no base64", false
	case bytes == 1:
		return "1 byte", true
	}
	return fmt.Sprintf("%d bytes", bytes), true
}
