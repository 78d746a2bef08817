// Package registrytest is a registry of MCP servers for tests: the reading half of the
// API that https://registry.modelcontextprotocol.io has, version 0.1, over descriptions
// that lie in a folder.
package registrytest

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Answer is one version of a server: what its publisher says of it, and what the
// registry does.
type Answer struct {
	Server map[string]any `json:"server"`
	Meta   struct {
		Official Official `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`
}

// Official is what the official registry says of a version.
type Official struct {
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage,omitempty"`
	PublishedAt   string `json:"publishedAt"`
	UpdatedAt     string `json:"updatedAt"`
	IsLatest      bool   `json:"isLatest"`
}

func (a *Answer) name() string    { return a.Server["name"].(string) }
func (a *Answer) version() string { return a.Server["version"].(string) }

// Load reads the descriptions (server.json) of a folder: one in each file NAME.json. What
// the registry says of a version is made up: it is active and the newest of its name in
// the order of the files, unless a member "test" of the description says otherwise, which
// is [Official] and is not part of the answer.
func Load(dir string) ([]Answer, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var all []Answer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var a Answer
		var said struct {
			Test Official `json:"test"`
		}
		if err := json.Unmarshal(text, &a.Server); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := json.Unmarshal(text, &said); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		delete(a.Server, "test")
		a.Meta.Official = said.Test
		o := &a.Meta.Official
		o.Status, o.PublishedAt, o.UpdatedAt = cmp.Or(o.Status, "active"), "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"
		for i := range all {
			if all[i].name() == a.name() {
				all[i].Meta.Official.IsLatest = false
			}
		}
		o.IsLatest = true
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b Answer) int { return cmp.Compare(a.name(), b.name()) })
	return all, nil
}

// Handler serves the descriptions of a folder, which is read at every request, and its
// files below /files. Below /lie/KIND it serves what no registry should.
func Handler(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v0.1/servers", func(w http.ResponseWriter, r *http.Request) { list(w, r, dir) })
	mux.HandleFunc("GET /v0.1/servers/{name}/versions", func(w http.ResponseWriter, r *http.Request) { versions(w, r, dir) })
	mux.HandleFunc("GET /v0.1/servers/{name}/versions/{version}", func(w http.ResponseWriter, r *http.Request) { version(w, r, dir) })
	mux.Handle("GET /files/", http.StripPrefix("/files/", http.FileServer(http.Dir(dir))))
	mux.HandleFunc("GET /lie/{kind}/", func(w http.ResponseWriter, r *http.Request) { lie(w, r, dir) })
	return mux
}

// page is a list of servers.
type page struct {
	Servers  []Answer `json:"servers"`
	Metadata struct {
		Count      int    `json:"count"`
		NextCursor string `json:"nextCursor,omitempty"`
	} `json:"metadata"`
}

func list(w http.ResponseWriter, r *http.Request, dir string) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(cmp.Or(q.Get("limit"), "30"))
	if err != nil || limit < 1 || limit > 100 || q.Has("search") && len(q.Get("search")) < 3 {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		write(w, map[string]any{"title": "Unprocessable Entity", "status": 422, "detail": "validation failed"})
		return
	}
	all, err := Load(dir)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	all = slices.DeleteFunc(all, func(a Answer) bool {
		v := q.Get("version")
		return !strings.Contains(strings.ToLower(a.name()), strings.ToLower(q.Get("search"))) ||
			v == "latest" && !a.Meta.Official.IsLatest || v != "" && v != "latest" && a.version() != v ||
			a.Meta.Official.Status == "deleted" && q.Get("include_deleted") != "true"
	})
	after := func(a Answer) string { return a.name() + ":" + a.version() }
	if cursor := q.Get("cursor"); cursor != "" {
		i := slices.IndexFunc(all, func(a Answer) bool { return after(a) == cursor })
		all = all[i+1:]
	}
	var p page
	if len(all) > limit {
		all = all[:limit]
		p.Metadata.NextCursor = after(all[limit-1])
	}
	p.Servers, p.Metadata.Count = slices.Concat([]Answer{}, all), len(all)
	write(w, p)
}

// of returns the versions of a name, the newest first.
func of(w http.ResponseWriter, r *http.Request, dir string) []Answer {
	all, err := Load(dir)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return nil
	}
	deleted := r.URL.Query().Get("include_deleted") == "true"
	all = slices.DeleteFunc(all, func(a Answer) bool {
		return a.name() != r.PathValue("name") || a.Meta.Official.Status == "deleted" && !deleted
	})
	slices.Reverse(all)
	if len(all) == 0 {
		fail(w, http.StatusNotFound, "Server not found")
	}
	return all
}

func versions(w http.ResponseWriter, r *http.Request, dir string) {
	if all := of(w, r, dir); len(all) > 0 {
		p := page{Servers: all}
		p.Metadata.Count = len(all)
		write(w, p)
	}
}

func version(w http.ResponseWriter, r *http.Request, dir string) {
	all := of(w, r, dir)
	if len(all) == 0 {
		return
	}
	wanted := r.PathValue("version")
	i := slices.IndexFunc(all, func(a Answer) bool {
		return a.version() == wanted || wanted == "latest" && a.Meta.Official.IsLatest
	})
	if i < 0 {
		fail(w, http.StatusNotFound, "Server not found")
		return
	}
	write(w, all[i])
}

func fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	write(w, map[string]any{"title": http.StatusText(status), "status": status, "detail": text})
}

func write(w http.ResponseWriter, v any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	_ = json.NewEncoder(w).Encode(v) // who asked may be gone
}

// File is a file of a bundle.
type File struct {
	Name, Text string
	Mode       fs.FileMode
}

// Bundle writes an archive of files into a folder (mcpb), and the description of a server
// that is such a bundle: the one at address, which serves the folder.
func Bundle(dir, address, name, version string, files ...File) error {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.Name}
		header.SetMode(f.Mode)
		to, err := w.CreateHeader(header)
		if err == nil {
			_, err = to.Write([]byte(f.Text))
		}
		if err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	file := name + "-" + version
	text, err := json.Marshal(map[string]any{
		"name": "io.example/" + name, "description": "A bundle", "version": version,
		"packages": []any{map[string]any{
			"registryType": "mcpb", "identifier": address + "/files/" + file + ".mcpb", "version": version,
			"fileSha256": fmt.Sprintf("%x", sha256.Sum256(archive.Bytes())), "transport": map[string]any{"type": "stdio"},
		}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, file+".mcpb"), archive.Bytes(), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, file+".json"), text, 0o600)
	}
	return err
}
