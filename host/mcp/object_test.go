package mcp

import (
	"encoding/json"
	"testing"
)

// TestWholeObjects reads objects with members that no type has and expects
// them back, byte for byte; and a change, where Raw is cleared.
func TestWholeObjects(t *testing.T) {
	tests := []struct {
		name, json string
		read       func() any
	}{
		{"tool", `{"name":"a","icons":[{"src":"<x>"}],"inputSchema":{"type":"object"},"execution":{"taskSupport":"required","x":1}}`, fresh[Tool]},
		{"resource", `{"uri":"file:///a","name":"a","size":0,"icons":[],"x":{"y":1.0}}`, fresh[Resource]},
		{"template", `{"uriTemplate":"file:///{a}","name":"a","x":null}`, fresh[ResourceTemplate]},
		{"read", `{"contents":[{"uri":"u","text":"","etag":"7"}],"ttlMs":5}`, fresh[ReadResourceResult]},
		{"prompt", `{"name":"p","arguments":[{"name":"a","x":1}],"icons":[]}`, fresh[Prompt]},
		{"messages", `{"messages":[{"role":"user","content":{"type":"text","text":"x"},"x":1}],"resultType":"complete"}`, fresh[GetPromptResult]},
		{"completion", `{"values":["a"],"total":7,"hasMore":true,"x":1}`, fresh[Completion]},
		{"task", `{"taskId":"7","status":"working","ttl":null,"pollInterval":500,"x":1}`, fresh[Task]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.read()
			if err := json.Unmarshal([]byte(test.json), got); err != nil {
				t.Fatal(err)
			}
			if out, err := marshal(got); err != nil || string(out) != test.json {
				t.Errorf("wrote %s, %v; want %s", out, err, test.json)
			}
			if err := json.Unmarshal([]byte(`[]`), got); err == nil {
				t.Error("an array was read")
			}
		})
	}
}

func fresh[T any]() any { return new(T) }

func TestChangedObjects(t *testing.T) {
	var tool Tool
	if err := json.Unmarshal([]byte(`{"name":"a","x":1}`), &tool); err != nil {
		t.Fatal(err)
	}
	tool.Name, tool.Raw = "b", nil
	if out, err := json.Marshal(tool); err != nil || string(out) != `{"name":"b"}` {
		t.Errorf("%s, %v", out, err)
	}
}

// TestTaskOfBothEras reads the durations of either spelling.
func TestTaskOfBothEras(t *testing.T) {
	for _, text := range []string{
		`{"taskId":"7","status":"completed","ttl":60000,"pollInterval":500}`,
		`{"taskId":"7","status":"completed","ttlMs":60000,"pollIntervalMs":500}`,
	} {
		var task Task
		if err := json.Unmarshal([]byte(text), &task); err != nil {
			t.Fatal(err)
		}
		if task.ID != "7" || !task.Status.Final() || task.TTL == nil || *task.TTL != 60000 || task.PollInterval != 500 {
			t.Errorf("%s: %+v", text, task)
		}
		task.Raw = nil
		want := `{"taskId":"7","status":"completed","ttlMs":60000,"pollIntervalMs":500}`
		if out, err := json.Marshal(task); err != nil || string(out) != want {
			t.Errorf("%s, %v", out, err)
		}
	}
}
