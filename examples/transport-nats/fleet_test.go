//go:build !wasip1

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host/plugintest/restarttest"
)

// The test binary is also the servers of a fleet: it is one of them when this
// variable says which.
const endpointVariable = "WHARF_TEST_NATS_ENDPOINT"

func TestMain(m *testing.M) {
	if text := os.Getenv(endpointVariable); text != "" {
		if err := serve(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// endpoint is where a client of NATS connects, and as whom.
type endpoint struct{ Addr, CA, User, Password, Name string }

// client is as much of a NATS client as a server of MCP needs: it is the other
// side of what README.md asks for.
type client struct {
	in *bufio.Reader

	mu  sync.Mutex
	out net.Conn
}

// message is something that was published.
type message struct {
	subject, reply string
	data           []byte
}

// dial signs in and subscribes, the n-th subject as number n, and returns when the
// NATS server knows of it all.
func dial(at endpoint, subjects ...string) (*client, error) {
	ca, err := os.ReadFile(at.CA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	conn, err := tls.Dial("tcp", at.Addr, &tls.Config{RootCAs: pool})
	if err != nil {
		return nil, err
	}
	c := &client{in: bufio.NewReader(conn), out: conn}
	login, _ := json.Marshal(map[string]any{"user": at.User, "pass": at.Password, "verbose": false, "headers": true})
	hello := fmt.Sprintf("CONNECT %s\r\n", login)
	for i, subject := range subjects {
		hello += fmt.Sprintf("SUB %s %d\r\n", subject, i+1)
	}
	c.write(hello + "PING\r\n")
	for {
		line, err := c.in.ReadString('\n')
		switch {
		case err != nil || strings.HasPrefix(line, "-ERR"):
			conn.Close()
			return nil, fmt.Errorf("%w: %s", errors.Join(err, errors.New("no PONG")), line)
		case line == "PONG\r\n":
			return c, nil
		}
	}
}

func (c *client) write(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	io.WriteString(c.out, text) // the reader learns of an error
}

func (c *client) publish(subject string, data []byte) {
	c.write(fmt.Sprintf("PUB %s %d\r\n%s\r\n", subject, len(data), data))
}

// next waits for the next message.
func (c *client) next() (m message, err error) {
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return m, err
		}
		words := strings.Fields(line)
		switch {
		case line == "PING\r\n":
			c.write("PONG\r\n")
		case len(words) > 3 && words[0] == "MSG":
			m.subject, m.reply = words[1], words[len(words)-2]
			n, err := strconv.Atoi(words[len(words)-1])
			if err != nil {
				return m, err
			}
			m.data = make([]byte, n+2)
			_, err = io.ReadFull(c.in, m.data)
			m.data = m.data[:n]
			return m, err
		}
	}
}

// fleet is one server of the fleet: it gives each request a session of its own,
// which is all that the modern era needs.
type fleet struct {
	*client
	name   string
	server *mcp.Server

	mu    sync.Mutex
	under map[string]context.CancelFunc // requests, by their inbox
}

// serve is the process. It says when it listens, and ends with its connection.
func serve(text string) error {
	var at endpoint
	if err := json.Unmarshal([]byte(text), &at); err != nil {
		return err
	}
	c, err := dial(at, prefix+".request fleet", prefix+".cancel", prefix+".notify")
	if err != nil {
		return err
	}
	f := &fleet{client: c, name: at.Name, server: restarttest.NewServer(), under: map[string]context.CancelFunc{}}
	f.tools()
	fmt.Println("listens")
	for {
		m, err := c.next()
		if err != nil {
			return nil
		}
		switch m.subject {
		case prefix + ".request":
			ctx, cancel := context.WithCancel(context.Background())
			f.mu.Lock()
			f.under[m.reply] = cancel
			f.mu.Unlock()
			go f.answer(ctx, m)
		case prefix + ".cancel":
			f.mu.Lock()
			if cancel := f.under[string(m.data)]; cancel != nil {
				cancel()
			}
			f.mu.Unlock()
		}
	}
}

// answer publishes all that one request comes to.
func (f *fleet) answer(ctx context.Context, m message) {
	defer func() {
		f.mu.Lock()
		delete(f.under, m.reply)
		f.mu.Unlock()
	}()
	near, far := mcp.NewInMemoryTransports()
	session, err := f.server.Connect(ctx, near, nil)
	if err != nil {
		return
	}
	defer session.Close()
	conn, err := far.Connect(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	request, err := jsonrpc.DecodeMessage(m.data)
	if err == nil {
		err = conn.Write(ctx, request)
	}
	for err == nil {
		var said jsonrpc.Message
		if said, err = conn.Read(ctx); err != nil {
			return
		}
		text, _ := jsonrpc.EncodeMessage(said)
		f.publish(m.reply, text)
		if _, last := said.(*jsonrpc.Response); last {
			return
		}
	}
}

// tools stand beside those of a restart test.
func (f *fleet) tools() {
	type nothing struct{}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	mcp.AddTool(f.server, &mcp.Tool{Name: "who"}, func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		return text(f.name), nil, nil
	})
	mcp.AddTool(f.server, &mcp.Tool{Name: "count"}, func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		for n := range 3 {
			err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(n + 1)})
			if err != nil {
				return nil, nil, err
			}
		}
		return text("three"), nil, nil
	})
	mcp.AddTool(f.server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		f.publish("test.begun", []byte(f.name))
		<-ctx.Done()
		f.publish("test.left", []byte(f.name))
		return nil, nil, ctx.Err()
	})
}
