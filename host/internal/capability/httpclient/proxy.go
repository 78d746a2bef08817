package httpclient

import (
	"fmt"
	"net/http"
	"net/url"
)

// ProxyFunc picks the proxy of a request; nil, and a nil URL, mean none.
type ProxyFunc = func(*http.Request) (*url.URL, error)

// ParseProxy reads the proxy of a server entry: see [Origin.Proxy].
func ParseProxy(setting string) (ProxyFunc, error) {
	switch setting {
	case "direct":
		return nil, nil
	case "":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(setting)
	if err != nil {
		return nil, fmt.Errorf("proxy %q: %w", BareURL(setting), URLCause(err))
	}
	if usualPorts[u.Scheme] == "" || u.Hostname() == "" {
		return nil, fmt.Errorf(`proxy %q: want http://host:port, https://host:port, socks5://host:port or "direct"`, BareURL(setting))
	}
	return http.ProxyURL(u), nil
}
