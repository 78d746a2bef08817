package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// step is an action of the client in a scenario, after it has connected.
type step func(ctx context.Context, c *client) error

// args are the arguments of a tool.
type args map[string]any

// scenarios maps each scenario of the suite to the client's steps. If list is the only step, the
// suite judges the handshake, or what a client must not do.
var scenarios = map[string][]step{
	"initialize":       {list},
	"request-metadata": {list},
	"tools_call":       {list, call("add_numbers", args{"a": 5, "b": 3})},

	"elicitation-sep1034-client-defaults": {list, call("test_client_elicitation_defaults", nil)},

	// The call is answered on a stream that is opened again. A second stream
	// stands open beside it since the handshake.
	"sse-retry": {list, call("test_reconnection", nil)},

	// The data of one call must not get into another call at the same time.
	"sep-2322-client-request-state": {
		list,
		together(call("test_mrtr_echo_state", nil), call("test_mrtr_unrelated", nil)),
		call("test_mrtr_no_state", nil),
		call("test_mrtr_no_result_type", nil),
	},

	// The headers repeat the name of the tool, resource or prompt, and some names are odd.
	"http-standard-headers": {
		callEach(nil),
		each("resources/list", "resources", mcp.MethodReadResource, "uri"),
		each("prompts/list", "prompts", mcp.MethodGetPrompt, "name"),
	},
	"http-custom-headers": {list, callAsTold},

	// The client must leave some tools out of the list; callEach would call them.
	"http-invalid-tool-headers": {callEach(args{"region": "us-west1"})},

	"json-schema-ref-no-deref":         {list},
	"json-schema-2020-12-preservation": {echoSchema("json_schema_2020_12_tool", "json_schema_echo")},
}

// steps returns the steps of a scenario. Scenarios about authorization all have the same steps,
// and differ in the sign-in before them. For a scenario that is not in the table the suite will
// say what it misses.
func steps(scenario string) []step {
	if found, ok := scenarios[scenario]; ok {
		return found
	}
	if strings.HasPrefix(scenario, "auth/") {
		return []step{list, call("test-tool", nil)}
	}
	return []step{list}
}

// list asks for the tools.
func list(ctx context.Context, c *client) error {
	_, err := c.tools(ctx)
	return err
}

func (c *client) tools(ctx context.Context) ([]mcp.Tool, error) {
	tools, err := c.session.ListTools(ctx)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	c.log.printf("%d tools", len(tools))
	return tools, nil
}

// call calls one tool.
func call(name string, a args) step {
	return func(ctx context.Context, c *client) error { return c.callTool(ctx, name, a) }
}

// callEach calls every tool that the list has, all with the same arguments.
func callEach(a args) step {
	return func(ctx context.Context, c *client) error {
		tools, err := c.tools(ctx)
		for _, tool := range tools {
			err = errors.Join(err, c.callTool(ctx, tool.Name, a))
		}
		return err
	}
}

// callAsTold makes the calls that the scenario dictates.
func callAsTold(ctx context.Context, c *client) error {
	if len(c.job.calls) == 0 {
		return errors.New("MCP_CONFORMANCE_CONTEXT: expected toolCalls")
	}
	for _, told := range c.job.calls {
		if err := c.callTool(ctx, told.Name, told.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// together runs steps at the same time.
func together(steps ...step) step {
	return func(ctx context.Context, c *client) error {
		var wg sync.WaitGroup
		errs := make([]error, len(steps))
		for i, s := range steps {
			wg.Go(func() { errs[i] = s(ctx, c) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// each lists items by one method and asks for each item by another, whose parameter is the
// item's member key.
func each(listMethod, member, getMethod, key string) step {
	return func(ctx context.Context, c *client) error {
		var page map[string]json.RawMessage
		if err := c.call(ctx, listMethod, nil, &page); err != nil {
			return err
		}
		var items []map[string]json.RawMessage
		if err := json.Unmarshal(page[member], &items); err != nil {
			return fmt.Errorf("%s: %s: %w", listMethod, member, err)
		}
		for _, item := range items {
			params := map[string]json.RawMessage{key: item[key]}
			if err := c.call(ctx, getMethod, params, nil); err != nil {
				return err
			}
		}
		return nil
	}
}

// echoSchema passes the schema of one tool to another tool, as its argument.
func echoSchema(from, to string) step {
	return func(ctx context.Context, c *client) error {
		tools, err := c.tools(ctx)
		if err != nil {
			return err
		}
		for _, tool := range tools {
			if tool.Name == from {
				return c.callTool(ctx, to, args{"schema": tool.InputSchema})
			}
		}
		return fmt.Errorf("the server has no tool %s", from)
	}
}
