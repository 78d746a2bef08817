package elicit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// errRejected is the error that a server gets if the person does not want it to have an answer of a
// model (2025-11-25/client/sampling#error-handling).
var errRejected = &host.RPCError{Code: -1, Message: "User rejected sampling request"}

// Bounds of samplers.
const (
	maxAnswer   = 16 << 20    // bytes that a sampler writes
	maxSamples  = 100         // runs for one server; the user who named the command pays for its model
	samplerWait = time.Second // for a process that a sampler has left behind, and that keeps its stdout
)

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

// runSampler runs the command of the sampler, which is killed when ctx ends. The server
// learns only that it failed; the person is told why.
func (a *Asker) runSampler(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	if n := a.samplers.begun.Add(1); n > maxSamples {
		if n == maxSamples+1 {
			a.Warn("%s got %d answers of the sampler, and gets no more of them from this command", plain.Server(a.Server), maxSamples)
		}
		return nil, &host.RPCError{Code: errRejected.Code, Message: fmt.Sprintf("no more than %d answers of a model are given", maxSamples)}
	}
	done, err := a.samplers.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out, said bounded
	out.most, said.most = maxAnswer, 4<<10
	cmd := exec.CommandContext(ctx, a.Sampler[0], a.Sampler[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(params), &out, &said
	cmd.WaitDelay = samplerWait
	err = cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has succeeded, and what came is its answer
	}
	answer := bytes.TrimSpace(out.Bytes())
	var object map[string]json.RawMessage
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	case out.over:
		err = fmt.Errorf("its answer is longer than %d MiB", maxAnswer>>20)
	case json.Unmarshal(answer, &object) != nil || object["content"] == nil:
		err = errors.New(`its answer is no JSON object with "role", "model" and "content"`)
	default:
		return answer, nil
	}
	a.Warn("%s", plain.Line(fmt.Sprintf("sampler %s: %v", a.Sampler[0], err)))
	return nil, err
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	kept := p[:min(len(p), b.most-b.Len())]
	b.over = b.over || len(kept) < len(p)
	b.Buffer.Write(kept)
	return len(p), nil
}
