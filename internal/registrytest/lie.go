package registrytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Token is the bearer token of those who may ask the registry that is closed.
const Token = "open-sesame"

// lie answers as no registry should. The kinds:
//
//	endless    each page has a server, and names another page
//	circle     each page names itself
//	huge       a page that does not end
//	cursor     a page whose cursor is longer than an url
//	html       a page for people
//	other      another server than the one that was asked for
//	nameless   servers without a valid name or version
//	broken     HTTP 500
//	closed     HTTP 401, but for the token [Token]
//	redirect   leads to another origin
//	deep       JSON that nests as deep as it goes
//	silent     no answer
func lie(w http.ResponseWriter, r *http.Request, dir string) {
	all, err := Load(dir)
	if err != nil || len(all) == 0 {
		fail(w, http.StatusInternalServerError, "there is nothing to lie about")
		return
	}
	one, _ := json.Marshal(all[0])
	cursor := r.URL.Query().Get("cursor")
	switch r.PathValue("kind") {
	case "endless":
		fmt.Fprintf(w, `{"servers": [%s], "metadata": {"nextCursor": "%sx"}}`, one, cursor)
	case "circle":
		fmt.Fprint(w, `{"servers": [], "metadata": {"nextCursor": "again"}}`)
	case "huge":
		fmt.Fprint(w, `{"servers": [`)
		for i := 0; i < 1<<20 && r.Context().Err() == nil; i++ {
			if _, err := fmt.Fprintf(w, "%s,", one); err != nil {
				return
			}
		}
	case "cursor":
		fmt.Fprintf(w, `{"servers": [], "metadata": {"nextCursor": "%s"}}`, strings.Repeat("x", 1<<16))
	case "html":
		fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
	case "other":
		write(w, all[0])
	case "nameless":
		fmt.Fprint(w, `{"servers": [{"server": {"name": "../../x", "version": "1"}}, {"server": {"name": "a/b"}}, {"server": []}, {}], "metadata": {}}`)
	case "broken":
		fail(w, http.StatusInternalServerError, "Failed to get server list")
	case "closed":
		if r.Header.Get("Authorization") != "Bearer "+Token {
			fail(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		fmt.Fprintf(w, `{"servers": [%s], "metadata": {}}`, one)
	case "redirect":
		http.Redirect(w, r, "https://evil.example/", http.StatusFound)
	case "deep":
		fmt.Fprint(w, strings.Repeat("[", 1<<20))
	case "silent":
		<-r.Context().Done()
	default:
		http.NotFound(w, r)
	}
}
