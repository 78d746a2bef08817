package gateway

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/securedir"
)

const (
	tokenFile = "token"
	tokenLock = "lock"
	tokenSize = 2 * 26 // of rand.Text, 130 bits each
)

// Bearer returns what [Config].Principal has to be for clients that send a bearer token, all of which
// are one principal. The token is in a file of the folder, which only the user can read; it is made
// at the first use. Bearer returns the path of the file.
func Bearer(dir string) (principal func(*http.Request) (string, error), file string, err error) {
	folder := securedir.In(dir)
	file = folder.Path(tokenFile)
	token, err := ownToken(folder)
	if err != nil {
		return nil, file, fmt.Errorf("the token of clients over HTTP: %w", err)
	}
	refused := errors.New("the header Authorization: Bearer is missing, or has another token")
	return func(r *http.Request) (string, error) {
		scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(sent)), []byte(token)) != 1 {
			return "", refused
		}
		return "bearer", nil
	}, file, nil
}

// ownToken reads the token, or makes one.
func ownToken(folder *securedir.Folder) (string, error) {
	if err := folder.Claim(); err != nil {
		return "", err
	}
	lock := folder.Flock(tokenLock) // of two programs that start at once, one makes it
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer lock.Unlock()
	text, err := folder.Read(tokenFile, 1<<10)
	token := strings.TrimSpace(string(text))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		token = rand.Text() + rand.Text()
		return token, folder.Write(tokenFile, []byte(token+"\n"))
	case err == nil && len(token) < tokenSize:
		return "", fmt.Errorf("%s holds no token: remove it, and another is made", folder.Path(tokenFile))
	}
	return token, err
}
