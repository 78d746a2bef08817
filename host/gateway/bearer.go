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

// Bearer returns a [Config].Principal that accepts requests with a bearer token, and the path of the
// file that has the token. All clients that send the token are the user who runs the program. The file
// is in dir, and only the user can read it. The first use makes it.
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
		return "", nil
	}, file, nil
}

// ownToken reads the token. If there is no token, it makes one.
func ownToken(folder *securedir.Folder) (string, error) {
	if err := folder.Claim(); err != nil {
		return "", err
	}
	lock := folder.Flock(tokenLock) // so that two programs that start at once make one token
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
