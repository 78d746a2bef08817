package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// accessKey holds the settings: an access key, and what it signs for.
type accessKey struct {
	ID      string `json:"access_key_id"`
	Secret  string `json:"secret_access_key"`
	Session string `json:"session_token,omitempty"`
	Region  string `json:"region"`
	Service string `json:"service"`
}

// check refuses settings with which every signature would be wrong. A slash would add a part to
// the scope, and a comma would end it.
func (k *accessKey) check() error {
	for _, field := range []struct{ name, value string }{
		{"access_key_id", k.ID}, {"secret_access_key", k.Secret}, {"region", k.Region}, {"service", k.Service},
	} {
		if field.value == "" || strings.ContainsAny(field.value, " \t\r\n") {
			return fmt.Errorf("%s is empty or has a space or a line end in it", field.name)
		}
	}
	if strings.ContainsAny(k.ID+k.Region+k.Service, "/,") {
		return fmt.Errorf("access_key_id, region and service have no slash and no comma")
	}
	return nil
}

const (
	algorithm  = "AWS4-HMAC-SHA256"
	dateFormat = "20060102"
	timeFormat = "20060102T150405Z"
)

// unsigned are headers that may change on the way, or that hold the signature.
var unsigned = []string{"authorization", "user-agent", "x-amzn-trace-id", "traceparent", "tracestate", "baggage"}

// sign returns the headers to add to a request.
func (k *accessKey) sign(r *auth.Request, now time.Time) (map[string]string, error) {
	path, query, host, err := canonicalURL(r.URL)
	if err != nil {
		return nil, err
	}
	added := map[string]string{"x-amz-date": now.UTC().Format(timeFormat)}
	if k.Session != "" {
		added["x-amz-security-token"] = k.Session
	}
	headers := map[string]string{"host": host}
	maps.Copy(headers, r.Headers)
	maps.Copy(headers, added)
	lines, names := canonicalHeaders(headers)
	request := strings.Join([]string{r.Method, path, query, lines, names, r.BodySHA256}, "\n")
	scope := strings.Join([]string{now.UTC().Format(dateFormat), k.Region, k.Service, "aws4_request"}, "/")
	hash := sha256.Sum256([]byte(request))
	text := strings.Join([]string{algorithm, added["x-amz-date"], scope, hex.EncodeToString(hash[:])}, "\n")
	added["authorization"] = fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		algorithm, k.ID, scope, names, mac(k.derived(scope), text))
	return added, nil
}

// derived returns the key for a day, a region and a service: each part of the scope signs the
// next.
func (k *accessKey) derived(scope string) []byte {
	key := []byte("AWS4" + k.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return key
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonicalHeaders returns the headers sorted by name, with one space in place of
// several, and a list of their names.
func canonicalHeaders(headers map[string]string) (lines, names string) {
	signed := slices.DeleteFunc(slices.Sorted(maps.Keys(headers)), func(name string) bool {
		return slices.Contains(unsigned, name)
	})
	var b strings.Builder
	for _, name := range signed {
		b.WriteString(name + ":" + strings.Join(strings.FieldsFunc(headers[name], isSpace), " ") + "\n")
	}
	return b.String(), strings.Join(signed, ";")
}

func isSpace(r rune) bool { return r <= ' ' }
