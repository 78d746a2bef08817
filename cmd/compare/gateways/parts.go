package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pump passes bytes between its own standard streams and those of a command: the least that a bridge
// can do.
func pump(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer in.Close()
		forward(in, os.Stdin)
	}()
	forward(os.Stdout, out)
	return cmd.Wait()
}

// forward copies through a buffer, as a program that reads and writes does; io.Copy would have the
// system do it.
func forward(to io.Writer, from io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if _, failed := to.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}

// proxy is a bridge on the official Go SDK: a server that has the tools of a command, and calls them
// there.
func proxy(ctx context.Context, command []string) error {
	info := &mcp.Implementation{Name: "proxy", Version: "1.0.0"}
	upstream, err := mcp.NewClient(info, nil).Connect(ctx, &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}, nil)
	if err != nil {
		return err
	}
	defer upstream.Close()
	s := mcp.NewServer(info, nil)
	for tool, err := range upstream.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		s.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments any
			if len(r.Params.Arguments) > 0 {
				arguments = json.RawMessage(r.Params.Arguments)
			}
			return upstream.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: arguments})
		})
	}
	return s.Run(ctx, &mcp.StdioTransport{})
}

// reverse is the reverse proxy of the standard library before a URL, at the same path. It says where
// it listens, and ends with its input.
func reverse(before string) error {
	target, err := url.Parse(before)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	handler := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		// The server may answer before the transport has asked the body for more than its length. By then
		// the response may have closed the body, and the transport would give up the connection.
		body := r.Out.Body
		r.Out.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(body, r.Out.ContentLength), body}
	}}
	go http.Serve(l, handler)
	fmt.Printf("http://%s%s\n", l.Addr(), target.Path)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
