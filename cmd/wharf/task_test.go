package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// serverTasks is a server of either era whose tool "dig" can be run as a task and "look" cannot, and which
// keeps the task in the folder from one start to the next. While there is a file "hold" the
// task goes on. While there is a file "asks", the modern server asks for what it names, in the result of "look" and
// in the task of "dig". The modern "dash" wants a client that offers elicitation and roots. It logs each call.
func serverTasks() {
	modern, level := len(os.Args) > 1 && os.Args[1] == "modern", ""
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Level string          `json:"level"`
				Name  string          `json:"name"`
				Task  json.RawMessage `json:"task"`
				Meta  struct {
					Level string `json:"io.modelcontextprotocol/logLevel"`
				} `json:"_meta"`
			} `json:"params"`
		}
		json.Unmarshal(input.Bytes(), &m)
		if m.ID == nil {
			continue
		}
		if m.Method == "tools/call" {
			if modern {
				level = m.Params.Meta.Level
			}
			if level != "" {
				for n := range 1000 { // so many that the answer overtakes most
					fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"notice","logger":"digger","data":"digging at %s, %d deep\u001b"}}`+"\n", level, n)
				}
			}
		}
		if m.Method == "logging/setLevel" {
			level = m.Params.Level
			if level == "alert" {
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"alert","data":"a wolf"}}`)
			}
		}
		if bytes.Contains(input.Bytes(), []byte(`"taskId":"nothing"`)) { // as the TypeScript SDK answers
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"MCP error -32602: no such task"}}`+"\n", m.ID)
			continue
		}
		if modern && m.Method == "tools/call" && m.Params.Name == "dash" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"elicitation":{},"roots":{}}}}}`+"\n", m.ID)
			continue
		}
		if _, err := os.Stat("cancelled"); err == nil && m.Method == "tasks/result" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no result stored"}}`+"\n", m.ID)
			continue
		}
		answer := taskAnswer(m.Method, modern, m.Params.Name, m.Params.Task)
		if answer == "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, answer)
	}
}

func taskAnswer(method string, modern bool, tool string, wish json.RawMessage) string {
	const capabilities = `{"tools":{"listChanged":true},"logging":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`
	result := `{"content":[{"type":"text","text":"a bone"}]}`
	if _, err := os.Stat("fails"); err == nil {
		result = `{"content":[{"type":"text","text":"a stone"}],"isError":true}`
	}
	state := "completed"
	if _, err := os.Stat("hold"); err == nil {
		state = "working"
	}
	if _, err := os.Stat("cancelled"); err == nil {
		state = "cancelled"
	}
	var questions string
	if asks, err := os.ReadFile("asks"); err == nil && modern {
		state, questions = "input_required", fmt.Sprintf(`"inputRequests":{"q":{"method":%q,"params":{"message":"who?","messages":[],"maxTokens":1}}}`, bytes.TrimSpace(asks))
	}
	task := fmt.Sprintf(`"taskId":"t1","status":%q,"statusMessage":"so far","createdAt":"2026-01-01T00:00:00Z","ttl":null,"pollInterval":100`, state)
	switch method {
	case "initialize":
		if !modern {
			return `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"tasks","version":"1"}}`
		}
	case "server/discover":
		if modern {
			return `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"logging":{}}}`
		}
	case "tools/list":
		return `{"tools":[{"name":"dig","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},{"name":"look","inputSchema":{"type":"object"}},` +
			`{"name":"dash","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}}]}`
	case "tools/call":
		switch {
		case tool == "look" && questions != "":
			return `{"resultType":"input_required",` + questions + `}`
		case modern:
			return `{"resultType":"task","taskId":"t1","status":"working","pollIntervalMs":100}`
		case wish != nil:
			os.WriteFile("wish", wish, 0o600)
			return `{"task":{"taskId":"t1","status":"working","pollInterval":100}}`
		}
		return result
	case "tasks/get":
		os.WriteFile("asked", nil, 0o600)
		if modern && state == "completed" {
			return `{` + task + `,"result":` + result + `}`
		}
		if questions != "" {
			task += "," + questions
		}
		return `{` + task + `}`
	case "tasks/list":
		if _, err := os.Stat("none"); err == nil {
			return `{"tasks":[]}`
		}
		if !modern {
			return `{"tasks":[{` + task + `}]}`
		}
	case "tasks/result":
		return result
	case "tasks/cancel":
		os.WriteFile("cancelled", nil, 0o600)
		return `{}`
	case "logging/setLevel", "ping":
		return `{}`
	}
	return ""
}

// What a server logs during a call stands before the result.
func TestLogStandsBeforeTheResult(t *testing.T) {
	t.Parallel()
	command := exec.Command("wharf", "call", "dig", "--log", "info", "--", "server-tasks")
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+command.Dir)
	shown, err := command.CombinedOutput()
	last, result := bytes.Index(shown, []byte("999 deep")), bytes.Index(shown, []byte("a bone"))
	if err != nil || last < 0 || result < last {
		t.Errorf("the last line of the log is at %d, the result at %d of %d (%v)", last, result, len(shown), err)
	}
}
