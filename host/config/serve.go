package config

import (
	"net/url"
	"path/filepath"
	"strings"
)

// Serve says how clients over HTTP reach all servers, and how they prove who they are.
type Serve struct {
	// Hosts are the names and addresses, without ports, by which clients of other machines
	// reach it.
	Hosts []string

	TLS ServeTLS
}

// ServeTLS has the files of TLS, each in PEM. Paths are absolute, or count from the working folder.
type ServeTLS struct {
	Cert, Key string // of the program; "" is no TLS

	// ClientCA has the authorities of clients. With it, a client needs a certificate of one
	// of them. "" asks clients for none.
	ClientCA string
}

// serve reads the table serve.
func (e *entry) serve() *Serve {
	values := valueOf[map[string]any](e, "serve", "expected a table, not %s; write [serve]")
	if values == nil {
		return nil
	}
	s := new(Serve)
	e.within("serve", values, func(e *entry) {
		e.onlyKeys(serveKeys, "")
		s.Hosts = e.hosts()
		if values := valueOf[map[string]any](e, "tls", "expected a table, not %s; write [serve.tls]"); values != nil {
			e.within("tls", values, func(e *entry) { s.TLS = e.serveTLS() })
		}
	})
	return s
}

// hosts reads names and addresses of hosts.
func (e *entry) hosts() []string {
	hosts := e.list("hosts")
	for i, host := range hosts {
		u, err := url.Parse("//" + host)
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			u, err = url.Parse("//[" + host + "]")
		}
		if err != nil || host == "" || u.Hostname() != strings.Trim(host, "[]") || u.Port() != "" {
			e.fail("hosts", `%q is no host; write "mcp.example.com" or "192.0.2.7", without https:// and a port`, host)
			continue
		}
		hosts[i] = u.Hostname()
	}
	return hosts
}

// serveTLS reads the files of TLS.
func (e *entry) serveTLS() ServeTLS {
	e.onlyKeys(serveTLSKeys, "")
	t := ServeTLS{Cert: e.filePath("cert"), Key: e.filePath("key"), ClientCA: e.filePath("client_ca")}
	if len(e.wrong) == 0 && (t.Cert == "" || t.Key == "") {
		e.fail("", `needs both cert and key; write cert = "FILE" and key = "FILE"`)
	}
	return t
}

// filePath reads the path of a file. A relative one counts from the folder of the configuration.
func (e *entry) filePath(key string) string {
	path := e.text(key)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(e.doc.path), path)
}
