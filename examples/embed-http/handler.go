package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/wharf-mcp/wharf/host"
)

// maxArguments bounds the body of a request.
const maxArguments = 1 << 20

// handler lists tools at GET /tools, and calls one at POST /tools/NAME, whose body is
// its arguments, or empty for none. A call ends with its request: a client that leaves cancels it at the
// MCP server.
func handler(session *host.Session) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tools", func(w http.ResponseWriter, r *http.Request) {
		tools, err := session.ListTools(r.Context())
		answer(w, tools, err)
	})
	mux.HandleFunc("POST /tools/{name}", func(w http.ResponseWriter, r *http.Request) {
		arguments, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxArguments))
		if len(arguments) == 0 {
			arguments = []byte("{}")
		}
		if err != nil || !json.Valid(arguments) {
			http.Error(w, "the body is not the JSON of the arguments", http.StatusBadRequest)
			return
		}
		result, err := session.CallTool(r.Context(), r.PathValue("name"), json.RawMessage(arguments))
		answer(w, result, err)
	})
	return mux
}

// answer writes a result, or an error in its place.
func answer(w http.ResponseWriter, result any, err error) {
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(result) // an error is that the client has left
}

// statusOf returns an HTTP status that says on whose side the error is.
func statusOf(err error) int {
	switch {
	case errors.As(err, new(*host.ArgumentError)), errors.As(err, new(*host.RPCError)):
		return http.StatusBadRequest // on the caller's side: the server was reached, or did not have to be
	case errors.Is(err, host.ErrTimeout):
		return http.StatusGatewayTimeout
	case errors.Is(err, host.ErrClosed), errors.Is(err, host.ErrDisabled):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}
