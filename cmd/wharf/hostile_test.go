package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/demo"
)

// The servers below are commands of the test binary. Each is bad in one way
// and otherwise the demo server.

// serverExits is gone before it has read anything.
func serverExits() {
	fmt.Fprintln(os.Stderr, "no database at this address")
	os.Exit(3)
}

// serverWrites writes a file to its stderr, notes its start in another one, and leaves.
func serverWrites() {
	text, _ := os.ReadFile(os.Args[1])
	os.Stderr.Write(text)
	f, _ := os.OpenFile(os.Args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	fmt.Fprintln(f, "started")
	os.Exit(1)
}

// serverLarge answers calls with two megabytes, or as many as it is told, and writes the id of
// an answer last.
func serverLarge() {
	size := 2
	if len(os.Args) > 1 {
		size, _ = strconv.Atoi(os.Args[1])
	}
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		json.Unmarshal(input.Bytes(), &m)
		answer := `"error":{"code":-32601,"message":"no"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}`
		case "tools/list":
			answer = `"result":{"tools":[{"name":"large","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			answer = fmt.Sprintf(`"result":{"content":[{"type":"text","text":"%s"}]}`, bytes.Repeat([]byte("x"), size<<20))
		}
		if m.ID != nil {
			fmt.Printf("{%s,\"jsonrpc\":\"2.0\",\"id\":%s}\n", answer, m.ID)
		}
	}
}

// serverNeeds serves only where it has a variable.
func serverNeeds() {
	if os.Getenv(os.Args[1]) == "" {
		fmt.Fprintf(os.Stderr, "Error: %s environment variable is required\n", os.Args[1])
		os.Exit(1)
	}
	serve()
}

// serverTalks says on stdout that it is there, and nothing else.
func serverTalks() {
	fmt.Println("Server starting…")
	io.Copy(io.Discard, os.Stdin)
}

// serverSilent reads and never answers.
func serverSilent() {
	io.Copy(io.Discard, os.Stdin)
}

// serverBanner greets on the stream that is for messages.
func serverBanner() {
	fmt.Println("Welcome to the best of servers!")
	fmt.Println()
	serve()
}

// serverGarbage never says anything that is JSON.
func serverGarbage() {
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		os.Stdout.Write([]byte("\x00\xff<html>{[\n"))
	}
}

// serverPrints writes its argument in answer to the first message, with line breaks for \n and a
// byte order mark for \b. Then it leaves, unless it has another argument.
func serverPrints() {
	input := bufio.NewScanner(os.Stdin)
	input.Scan()
	fmt.Print(strings.NewReplacer(`\n`, "\n", `\b`, "\uFEFF").Replace(os.Args[1]))
	for len(os.Args) > 2 && input.Scan() {
	}
}

// serverFlood fills its stderr before and after it serves.
func serverFlood() {
	noise := bytes.Repeat([]byte("all is well\n"), 1<<16)
	os.Stderr.Write(noise)
	serve()
	os.Stderr.Write(noise)
}

// serverStubborn does not leave, neither at the end of its stdin nor when it is
// told to. The file it is given gets its process id.
func serverStubborn() {
	signal.Ignore(syscall.SIGTERM, os.Interrupt)
	os.WriteFile(os.Args[1], []byte(strconv.Itoa(os.Getpid())), 0o600)
	serve()
	select {}
}

// serverHangs has a tool that tells stderr that it was called, and then only leaves
// when it is cancelled, one that stays even then, and one in which the whole server leaves. While the tool
// hangs, a ping is not answered: a client that waits for one has the tool's last
// words as well.
func serverHangs() {
	server := mcp.NewServer(&mcp.Implementation{Name: "hangs", Version: "1"}, nil)
	var hanging sync.Mutex
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "ping" || method == "server/discover" {
				hanging.Lock()
				defer hanging.Unlock()
			}
			return next(ctx, method, r)
		}
	})
	type none struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		hanging.Lock()
		defer hanging.Unlock()
		fmt.Fprintln(os.Stderr, "called in process", os.Getpid())
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "cancelled")
		return said("too late"), nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "stay"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		signal.Ignore(syscall.SIGTERM)
		hanging.Lock()
		fmt.Fprintln(os.Stderr, "called in process", os.Getpid())
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "cancelled")
		select {}
	})
	mcp.AddTool(server, &mcp.Tool{Name: "leave"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		os.Exit(9)
		return nil, nil, nil
	})
	server.Run(context.Background(), &mcp.StdioTransport{})
	hanging.Lock() // which a tool that stays has for ever
}

// serverSteers says things that would steer a terminal.
func serverSteers() {
	fmt.Fprintln(os.Stderr, "\x1b]0;owned\a")
	server := mcp.NewServer(&mcp.Implementation{Name: "steers", Version: "1"}, nil)
	type none struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "steer", Description: "\x1b[2Jempty\u202e"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return said("\x1b[31mred\u009b\u202e\r\ndone"), nil, nil
	})
	server.Run(context.Background(), &mcp.StdioTransport{})
}

// serverPictures has a tool that sends bytes, which it names as it likes.
func serverPictures() {
	server := mcp.NewServer(&mcp.Implementation{Name: "pictures", Version: "1"}, nil)
	type none struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "picture"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{Data: []byte("hello\n"), MIMEType: "image/png"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///../../etc/passwd", Blob: []byte("hello\n")}},
		}}, nil, nil
	})
	frame := func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{Data: []byte("hello\n"), MIMEType: `image/x](http://spy.example) \]<b>![y`},
			&mcp.AudioContent{Data: []byte("hello\n"), MIMEType: "audio/`x`](http://spy.example)[y"},
		}}, nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "frame"}, frame)
	mcp.AddTool(server, &mcp.Tool{Name: "frame_all"}, frame)
	mcp.AddTool(server, &mcp.Tool{Name: "blank"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte{}, MIMEType: "image/png"}}}, nil, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "album"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		var file bytes.Buffer
		png.Encode(&file, image.NewGray(image.Rect(0, 0, 2, 2)))
		return &mcp.CallToolResult{Content: slices.Repeat([]mcp.Content{&mcp.ImageContent{Data: file.Bytes(), MIMEType: "image/png"}}, mostPictures+4)}, nil, nil
	})
	server.Run(context.Background(), &mcp.StdioTransport{})
}

// serverVariables has a tool that tells the value of a variable of its environment. It refuses calls
// as the official SDK for TypeScript does: the result is an error.
func serverVariables() {
	server := mcp.NewServer(&mcp.Implementation{Name: "variables", Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, r)
			if err != nil && method == "tools/call" {
				refusal := said(err.Error())
				refusal.IsError = true
				return refusal, nil
			}
			return result, err
		}
	})
	type variable struct {
		Name string `json:"name"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "variable"}, func(_ context.Context, _ *mcp.CallToolRequest, in variable) (*mcp.CallToolResult, any, error) {
		return said(os.Getenv(in.Name)), nil, nil
	})
	server.Run(context.Background(), &mcp.StdioTransport{})
}

// serverCounts has a tool that tells how often it was called, and one whose argument has values
// with blanks.
func serverCounts() {
	server := mcp.NewServer(&mcp.Implementation{Name: "counts", Version: "1"}, nil)
	type none struct{}
	n := 0
	count := func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		n++
		return said(strconv.Itoa(n)), nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "next"}, count)
	mcp.AddTool(server, &mcp.Tool{Name: "day.next"}, count)
	mcp.AddTool(server, &mcp.Tool{Name: "die"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "dying now")
		os.Exit(1)
		return nil, nil, nil
	})
	type city struct {
		Name string `json:"name"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "city", InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"enum":["New York","New Orleans","Chicago","St. John's","a$HOME \"b\" ` + "`touch run`" + `; c\\n","e$(touch run) (touch run)"]}}}`)},
		func(_ context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, any, error) {
			return said("it is " + in.Name + ", here"), nil, nil
		})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "it has " + r.Params.URI}}}, nil
	}
	server.AddResource(&mcp.Resource{URI: "list:///the-page?of=$(touch run)&at=1", Name: "page"}, read)
	server.AddResource(&mcp.Resource{URI: "note:///a-$(touch run)=(b) 'c'; \"!d\" <e> | f*", Name: "note"}, read)
	server.AddPrompt(&mcp.Prompt{Name: "day's $(touch run) `touch run` (touch run); & <old>", Arguments: []*mcp.PromptArgument{{Name: "hour"}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: r.Params.Name + " at " + r.Params.Arguments["hour"] + ", here"}}}}, nil
		})
	server.Run(context.Background(), &mcp.StdioTransport{})
}

// serverWrongIDs answers requests that were never made.
func serverWrongIDs() {
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		fmt.Println(`{"jsonrpc":"2.0","id":"nobody-asked","result":{}}`)
	}
}

func serve() { demo.Run() }

// serverAsks asks the client what the arguments of a call say, by the method that
// the tool is named after, and makes the answer the result. Its other tools are
// offers, which tells what the client can be asked, and work, which is half done
// for ever.
func serverAsks() {
	fmt.Fprintln(os.Stderr, "serving")
	var offers, id json.RawMessage
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
			Params struct {
				Capabilities json.RawMessage `json:"capabilities"`
				Name         string          `json:"name"`
				Arguments    json.RawMessage `json:"arguments"`
				Meta         struct {
					Token json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			} `json:"params"`
		}
		json.Unmarshal(input.Bytes(), &m)
		switch {
		case m.Method == "initialize":
			offers = m.Params.Capabilities
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asks","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/call" && m.Params.Name == "offers":
			answerText(m.ID, offers)
		case m.Method == "tools/call" && m.Params.Name == "work":
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":2,"message":"half\u001bway"}}`+"\n", m.Params.Meta.Token)
		case m.Method == "tools/call":
			id = m.ID
			fmt.Printf(`{"jsonrpc":"2.0","id":"q","method":%q,"params":%s}`+"\n", m.Params.Name, m.Params.Arguments)
		case m.Method == "" && string(m.ID) == `"q"`:
			answer := append(m.Result, m.Error...)
			fmt.Fprintf(os.Stderr, "answered %s\n", answer)
			answerText(id, answer)
		case m.Method == "notifications/cancelled":
			fmt.Fprintln(os.Stderr, "told to stop")
		case m.Method == "ping":
			fmt.Fprintln(os.Stderr, "pinged")
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
		case m.ID != nil:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		}
	}
}

func answerText(id, text json.RawMessage) {
	quoted, _ := json.Marshal(string(text))
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`+"\n", id, quoted)
}
