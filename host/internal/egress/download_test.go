//go:build unix

package egress

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is sent to one origin is not sent to the next, and only what is granted is
// gone to.
func TestDownloadedRedirects(t *testing.T) {
	var got http.Header
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		fmt.Fprint(w, "file")
	}))
	defer files.Close()
	start := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			got = r.Header
			return
		}
		to := files.URL
		if r.URL.Path == "/stay" {
			to = "/here"
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer start.Close()
	header := map[string]string{"Authorization": "secret", "Accept": "x"}

	both := newFetcher(t, Policy{Origins: []string{start.URL, files.URL}})
	answer, err := both.Download(t.Context(), FetchRequest{URL: start.URL, Header: header, Redirects: 1}, 4)
	if err != nil || string(answer.Body) != "file" || answer.URL != files.URL {
		t.Errorf("%+v, %v", answer, err)
	}
	if got.Get("Authorization") != "" || got.Get("Accept") != "" {
		t.Errorf("the other origin got %q", got)
	}
	if _, err := both.Download(t.Context(), FetchRequest{URL: start.URL + "/stay", Header: header, Redirects: 1}, 4); err != nil || got.Get("Authorization") != "secret" {
		t.Errorf("%v; the same origin got %q", err, got)
	}

	got = nil
	one := newFetcher(t, Policy{Origins: []string{start.URL}})
	var refused *OriginError
	if _, err := one.Download(t.Context(), FetchRequest{URL: start.URL, Redirects: 1}, 4); !errors.As(err, &refused) || got != nil {
		t.Errorf("%v, sent %q", err, got)
	}
}

func TestDownloadIsBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			http.Error(w, strings.Repeat("x", MaxAnswer+1), http.StatusNotFound)
			return
		}
		w.(http.Flusher).Flush() // so that nothing says how long it is
		fmt.Fprint(w, "file")
	}))
	defer s.Close()
	f := newFetcher(t, Policy{Origins: []string{s.URL}})
	for limit, good := range map[int64]bool{3: false, 4: true, 1 << 20: true} {
		answer, err := f.Download(t.Context(), FetchRequest{URL: s.URL}, limit)
		if (err == nil) != good || good && string(answer.Body) != "file" {
			t.Errorf("%d: %+v, %v", limit, answer, err)
		}
	}
	if answer, err := f.Download(t.Context(), FetchRequest{URL: s.URL + "/none"}, 4); err != nil || answer.Status != 404 || answer.Body != nil {
		t.Errorf("%+v, %v", answer, err)
	}
	if _, err := f.Download(t.Context(), FetchRequest{URL: "http://a.example/"}, 4); err == nil {
		t.Error("http leaves this machine")
	}
}
