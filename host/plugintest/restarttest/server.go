package restarttest

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools that a trial calls. They are those of the reference server everything.
const (
	echoTool = "echo"
	longTool = "trigger-long-running-operation"
)

// NewServer returns a server of the official SDK with the tools that a trial calls. Run it behind
// the transport under trial.
func NewServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "restart test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: echoTool, Description: "says it again"}, echo)
	mcp.AddTool(s, &mcp.Tool{Name: longTool, Description: "says that it has begun, and stays"}, stay)
	return s
}

type saying struct {
	Message string `json:"message"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in saying) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Echo: " + in.Message}}}, nil, nil
}

// span holds the arguments of the tool, which ignores them and runs until it is cancelled.
type span struct {
	Duration float64 `json:"duration"`
	Steps    float64 `json:"steps"`
}

func stay(ctx context.Context, r *mcp.CallToolRequest, _ span) (*mcp.CallToolResult, any, error) {
	begun := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1}
	if err := r.Session.NotifyProgress(ctx, begun); err != nil {
		return nil, nil, err
	}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}
