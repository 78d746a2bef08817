package jsonschema

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	gourl "net/url"
	"strings"
)

//go:embed metaschemas
var metaFS embed.FS

func openMeta(url string) (fs.File, error) {
	u, meta := strings.CutPrefix(url, "http://json-schema.org/")
	if !meta {
		u, meta = strings.CutPrefix(url, "https://json-schema.org/")
	}
	if meta {
		if u == "schema" {
			return openMeta(draftLatest.url)
		}
		f, err := metaFS.Open("metaschemas/" + u)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			return nil, err
		}
		return f, err
	}
	return nil, nil

}

func isMeta(url string) bool {
	f, err := openMeta(url)
	if err != nil {
		return true
	}
	if f != nil {
		f.Close()
		return true
	}
	return false
}

func loadMeta(url string) (any, error) {
	f, err := openMeta(url)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, nil
	}
	defer f.Close()
	return unmarshalJSON(f)
}

// --

type defaultLoader struct {
	docs map[url]any // docs loaded so far
}

func (l *defaultLoader) add(url url, doc any) bool {
	if _, ok := l.docs[url]; ok {
		return false
	}
	l.docs[url] = doc
	return true
}

func (l *defaultLoader) load(url url) (any, error) {
	if doc, ok := l.docs[url]; ok {
		return doc, nil
	}
	doc, err := loadMeta(url.String())
	if err != nil {
		return nil, err
	}
	if doc != nil {
		l.add(url, doc)
		return doc, nil
	}
	return nil, &LoadURLError{url.String()}
}

func (l *defaultLoader) getDraft(up urlPtr, doc any, defaultDraft *Draft, cycle map[url]struct{}) (*Draft, error) {
	obj, ok := doc.(map[string]any)
	if !ok {
		return defaultDraft, nil
	}
	sch, ok := strVal(obj, "$schema")
	if !ok {
		return defaultDraft, nil
	}
	if draft := draftFromURL(sch); draft != nil {
		return draft, nil
	}
	sch, _ = split(sch)
	if _, err := gourl.Parse(sch); err != nil {
		return nil, &InvalidMetaSchemaURLError{up.String(), err}
	}
	schUrl := url(sch)
	if up.ptr.isEmpty() && schUrl == up.url {
		return nil, &UnsupportedDraftError{schUrl.String()}
	}
	if _, ok := cycle[schUrl]; ok {
		return nil, &MetaSchemaCycleError{schUrl.String()}
	}
	cycle[schUrl] = struct{}{}
	doc, err := l.load(schUrl)
	if err != nil {
		return nil, err
	}
	return l.getDraft(urlPtr{schUrl, ""}, doc, defaultDraft, cycle)
}

func (l *defaultLoader) getMetaVocabs(doc any, draft *Draft) ([]string, error) {
	obj, ok := doc.(map[string]any)
	if !ok {
		return nil, nil
	}
	sch, ok := strVal(obj, "$schema")
	if !ok {
		return nil, nil
	}
	if draft := draftFromURL(sch); draft != nil {
		return nil, nil
	}
	sch, _ = split(sch)
	if _, err := gourl.Parse(sch); err != nil {
		return nil, &ParseURLError{sch, err}
	}
	schUrl := url(sch)
	doc, err := l.load(schUrl)
	if err != nil {
		return nil, err
	}
	return draft.getVocabs(schUrl, doc)
}

// --

// LoadURLError is about a reference to what is neither in the schema nor a meta-schema.
type LoadURLError struct {
	URL string
}

func (e *LoadURLError) Error() string { return fmt.Sprintf("%q is not part of the schema", e.URL) }

// unmarshalJSON unmarshals into [any] without losing
// number precision using [json.Number].
func unmarshalJSON(r io.Reader) (any, error) {
	decoder := json.NewDecoder(r)
	decoder.UseNumber()
	var doc any
	if err := decoder.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err == nil || err != io.EOF {
		return nil, fmt.Errorf("invalid character after top-level value")
	}
	return doc, nil
}
