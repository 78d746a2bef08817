package elicit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// errRejected is the error that a server gets if the person does not want it to have an answer of a
// model.
var errRejected = &host.RPCError{Code: codeRejected, Message: "User rejected sampling request"}

// Sample answers in place of a model: by the command of the Sampler, or by the person's own
// text. On a terminal the person sees the messages before anything is answered, and the answer
// of the command before it is sent. params and the result are those of sampling/createMessage.
func (a *Asker) Sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	answer, err := a.sample(ctx, params)
	if a.Interrupted() {
		<-ctx.Done() // as with Elicit
	}
	return answer, err
}

func (a *Asker) sample(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	if !a.CanAsk() {
		return a.runSampler(ctx, params)
	}
	if a.limit.isStopped() {
		a.declineUnasked()
		return nil, errRejected
	}
	ctx, end, err := a.Dialog(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := a.checkLimit(ctx); err != nil {
		return nil, a.rejected(err)
	}
	asked, err := readSampling(params)
	if err != nil {
		return nil, &host.RPCError{Code: mcp.CodeInvalidParams, Message: "the params are not those of sampling/createMessage: " + err.Error()}
	}
	fmt.Fprintf(a.Err, "\n%s", a.StyleErr(term.Bold, a.Own("%s wants the answer of a model to what is behind the bars:", plain.Server(a.Server))))
	if asked.SystemPrompt != "" {
		fmt.Fprint(a.Err, a.Quote("system: "+asked.SystemPrompt, term.OfMessage, ""))
	}
	for _, m := range asked.messages[max(0, len(asked.messages)-shownMessages):] {
		fmt.Fprint(a.Err, a.Quote(m, term.OfMessage, ""))
	}
	if more := len(asked.messages) - shownMessages; more > 0 {
		fmt.Fprint(a.Err, a.Own("(%d messages before these are not shown)", more))
	}
	if asked.Tools != nil {
		fmt.Fprint(a.Err, a.Quote("tools: "+string(asked.Tools), term.OfMessage, ""))
	}
	if asked.others != "" {
		fmt.Fprint(a.Err, a.Quote("also: "+asked.others, term.OfMessage, ""))
	}
	if a.Sampler == nil {
		return a.writeAnswer(ctx)
	}
	if err := a.agree(ctx, a.Own("The command %s would be given all of it.", plain.Name(a.Sampler[0], plain.NameColumns)), "Ask it?"); err != nil {
		return nil, a.rejected(err)
	}
	answer, err := a.runSampler(ctx, params)
	if err != nil {
		return nil, err
	}
	var result struct{ Content json.RawMessage }
	json.Unmarshal(answer, &result)
	text, err := textOf(result.Content)
	if err != nil {
		text = string(answer)
	}
	fmt.Fprint(a.Err, a.Quote(text, term.OfMessage, ""))
	if err := a.agree(ctx, a.Own("That is its answer."), "Send it to "+plain.Name(a.Server.Name, plain.NameColumns)+"?"); err != nil {
		return nil, a.rejected(err)
	}
	return answer, nil
}

// shownMessages is how many messages of a conversation are shown, the newest.
const shownMessages = 8

// writeAnswer lets the person write the answer.
func (a *Asker) writeAnswer(ctx context.Context) (json.RawMessage, error) {
	q := term.Question{Above: a.Own("There is no model here (--sampler names one): what you write is the answer."), Prompt: "Your answer: ", Consent: true}
	text, err := a.Ask(ctx, q)
	if err == nil && strings.TrimSpace(text) == "" {
		err = term.ErrDeclined
	}
	if err != nil {
		return nil, a.rejected(err)
	}
	return json.Marshal(map[string]any{
		"role": "assistant", "model": "person", "stopReason": "endTurn",
		"content": map[string]string{"type": mcp.ContentText, "text": text},
	})
}

// agree returns nil where the person says yes.
func (a *Asker) agree(ctx context.Context, above, question string) error {
	_, err := a.choose(ctx, term.Question{Above: above, Prompt: question + " [y]es, [n]o: ", Consent: true}, "")
	return err
}

// rejected tells the person that the server got no answer, and returns the error for the server.
func (a *Asker) rejected(err error) error {
	if errors.Is(err, errStopped) {
		a.declineUnasked()
		return errRejected
	}
	fmt.Fprintf(a.Err, "Declined. Nothing was sent to %s.\n", plain.Name(a.Server.Name, plain.NameColumns))
	return errRejected
}

// runSampler returns what the command of the sampler answers to params.
func (a *Asker) runSampler(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	answer, err := a.runAnswerer(ctx, &a.sampler, params)
	if err != nil {
		return nil, err
	}
	if err := checkSampled(answer); err != nil {
		return nil, a.failed(&a.sampler, fmt.Errorf("%w: %s", err, begins(answer)))
	}
	return answer, nil
}

// begins returns the beginning of what a command answered, for people.
func begins(answer []byte) string {
	text := plain.Line(plain.CutBytes(string(answer), 1000))
	if text == "" {
		return "it wrote nothing"
	}
	return "it wrote " + plain.Clip(text, 200)
}

// checkSampled returns an error for what is no result of sampling/createMessage: a server may fail at it, and
// would then be blamed for what the sampler did.
func checkSampled(answer json.RawMessage) error {
	var result map[string]json.RawMessage
	if json.Unmarshal(answer, &result) != nil || mcp.KindOf(result["model"]) != "string" || result["role"] == nil || result["content"] == nil {
		return errors.New(`its answer is no JSON object with "role", "model" and "content"`)
	}
	var role string
	if json.Unmarshal(result["role"], &role); role != "assistant" && role != "user" {
		return fmt.Errorf("its role is %s; expected assistant or user", plain.Clip(string(result["role"]), 40))
	}
	parts := []json.RawMessage{result["content"]}
	if mcp.KindOf(parts[0]) == "array" {
		json.Unmarshal(parts[0], &parts)
	}
	for _, part := range parts {
		if err := checkPart(part); err != nil {
			return fmt.Errorf("its content: %w", err)
		}
	}
	return nil
}

// checkPart returns an error for a part of an answer's content that has no type of sampledTypes, or lacks a member of it.
func checkPart(part json.RawMessage) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(part, &members) != nil || members == nil {
		return fmt.Errorf("expected an object, got %s", mcp.KindOf(part))
	}
	var name string
	json.Unmarshal(members["type"], &name)
	needed, found := sampledTypes[name]
	if !found {
		return fmt.Errorf("its type is %s; expected %s", plain.Quote(plain.Clip(name, 40)), strings.Join(slices.Sorted(maps.Keys(sampledTypes)), ", "))
	}
	for _, member := range slices.Sorted(maps.Keys(needed)) {
		if got := mcp.KindOf(members[member]); got != needed[member] {
			return fmt.Errorf("%s: member %q: expected %s, got %s", name, member, needed[member], got)
		}
	}
	return nil
}

// sampledTypes are the types of what a model answers, and the members that each must have (SamplingMessageContentBlock
// of 2025-11-25 and 2026-07-28; older revisions have the first three).
var sampledTypes = map[string]map[string]string{
	mcp.ContentText:  {"text": "string"},
	mcp.ContentImage: {"data": "string", "mimeType": "string"},
	mcp.ContentAudio: {"data": "string", "mimeType": "string"},
	"tool_use":       {"id": "string", "name": "string", "input": "object"},
	"tool_result":    {"toolUseId": "string", "content": "array"},
}
