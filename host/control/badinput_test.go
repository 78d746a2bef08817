package control

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// A question is answered by the editor that was asked, under its id, once. What else comes is no answer to it.
func TestAnswersToAQuestion(t *testing.T) {
	s := newConfigured(t, configured)
	one, two := s.ready(all), s.ready(all)
	ask := func(c *client, server string) (call int, question message) {
		t.Helper()
		call = c.begin("tools/call", `{"server":"`+server+`","name":"ask","arguments":{"message":"who?"}}`)
		return call, c.asked("elicit")
	}
	firstCall, first := ask(one, "files")
	yes := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"name":"Eve"}}}`
	}
	two.send(yes(string(first.ID))) // it was asked nothing
	secondCall, second := ask(two, "other")
	if string(second.ID) != string(first.ID) {
		t.Errorf("the questions are %s and %s: an answer to one could not be taken for the other", first.ID, second.ID)
	}
	for _, id := range []string{`4711`, `"x"`, `null`, string(first.ID) + `.5`, `-` + string(first.ID)} {
		one.send(yes(id))
	}
	one.call("status", `{}`)
	two.reply(second, `{"action":"accept","content":{"name":"Bob"}}`)
	two.wantHas(string(two.answer(secondCall).Result), `acceptmap[name:Bob]`)
	one.reply(first, `{"action":"accept","content":{"name":"Ada"}}`)
	for range 3 {
		one.send(yes(string(first.ID)))
	}
	one.wantHas(string(one.answer(firstCall).Result), `acceptmap[name:Ada]`)
	one.wantHas(one.call("status", `{}`), `"asked":2,"unanswered":0`)

	for _, no := range []string{`%s,"error":{"code":-32603,"message":"the form is broken"}`, `"%s","result":{"action":"accept"}`, `%s.0,"result":{"action":"accept"}`} {
		call, question := ask(one, "files")
		one.send(`{"jsonrpc":"2.0","id":` + fmt.Sprintf(no, question.ID) + `}`)
		one.wantHas(string(one.answer(call).Result), `"cancelmap[]`)
	}
}

// A cancellation that crosses the answer to the question of its call, or comes behind the end of the call, leaves
// one answer to the call.
func TestCancelRacesTheAnswer(t *testing.T) {
	s := newScene(t)
	c := s.ready(all)
	for n := range 60 {
		id := c.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
		question := c.asked("elicit")
		reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ada"}}}`, question.ID)
		cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`, id)
		c.send([]string{cancel + "\n" + reply, reply + "\n" + cancel, reply, cancel}[n%4])
		m := c.answer(id)
		cancelled := m.Error != nil && m.Error.Code == CodeCancelled
		if accepted := strings.Contains(string(m.Result), "acceptmap"); cancelled == accepted || n%4 == 2 && cancelled || n%4 == 3 && accepted {
			t.Fatalf("round %d: %s, %+v", n, m.Result, m.Error)
		}
		c.send(cancel) // it is over
	}
	c.call("status", `{}`)
	for _, m := range c.early {
		if m.Method == "" {
			t.Errorf("a second answer: %s %s %+v", m.ID, m.Result, m.Error)
		}
	}
}

// What frames badly costs no message that is framed well, holds nothing, and ends no other editor.
func TestBadFrames(t *testing.T) {
	frame := func(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":[1,1],"client":{"name":"bad"}}}`
	const last = `{"jsonrpc":"2.0","id":2,"method":"status","params":{}}`
	const lost = `{"jsonrpc":"2.0","id":77,"method":"status","params":{}}`
	s := newScene(t)
	other := s.ready(`{}`)
	for name, said := range map[string]string{
		"a negative length":         "Content-Length: -5\r\n\r\n" + lost,
		"a length that overflows":   "Content-Length: 18446744073709551617\r\n\r\n" + lost,
		"a length beyond any cap":   "Content-Length: 99999999999\r\n\r\n" + lost,
		"a length over the cap":     "Content-Length: 20000000\r\n\r\n" + strings.Repeat(" ", 20000000),
		"no length":                 "Content-Type: application/json\r\n\r\n" + lost,
		"no number":                 "Content-Length: five\r\n\r\n" + lost,
		"two lengths":               "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + lost,
		"a length of nothing":       frame(""),
		"lines in between":          lost + "\n" + lost + "\n",
		"a header that never ends":  strings.Repeat("X-Drip: drop\r\n", 100000) + "\r\n",
		"a field that never ends":   "X-Drip: " + strings.Repeat("drop", 1000000) + "\r\n\r\n",
		"a length that is too long": "Content-Length: " + fmt.Sprint(len(lost)-1) + "\r\n\r\n" + lost,
	} {
		c := s.editor()
		for _, text := range []string{frame(hello), said, frame(last)} {
			io.WriteString(c.stream, text)
		}
		if m := c.answer(2); m.Error != nil || !strings.Contains(string(m.Result), `"editors":2`) {
			t.Errorf("%s: what comes behind it has %s, %+v", name, m.Result, m.Error)
		}
		c.stream.Close()
		<-c.ended
	}
	c := s.editor()
	for _, text := range []string{hello, "Content-Length: 55\r\n\r", lost, frame(lost), last} { // lines remain lines
		io.WriteString(c.stream, text+"\n")
	}
	c.answer(77)
	c.answer(77)
	if m := c.answer(2); m.Error != nil {
		t.Errorf("headers among lines: %+v", m.Error)
	}
	for framing, text := range map[string]string{"lines": hello + "\n" + last + "\n", "headers": frame(hello) + frame(last)} {
		c := s.editor()
		for i := range len(text) { // byte by byte
			io.WriteString(c.stream, text[i:i+1])
		}
		if m := c.answer(2); m.Error != nil {
			t.Errorf("%s: %+v", framing, m.Error)
		}
	}
	other.call("status", `{}`)
}

// What an editor says of itself that is unknown is passed over; what is of another type is refused.
func TestUnknownCapabilities(t *testing.T) {
	s := newScene(t)
	c := s.editor()
	c.refused(KindParams, "initialize", `{"protocol":[1,1],"client":{"name":"test"},"capabilities":{"elicit":"yes"}}`)
	c.refused(KindParams, "initialize", `{"protocol":[1,1],"client":{"name":"test"},"capabilities":[1]}`)
	c.call("initialize", `{"protocol":[1,1],"client":{"name":"test","colour":"red"},"capabilities":{"fly":true,"elicit":true},"workspace":7}`)
	id := c.begin("tools/call", `{"server":"files","name":"ask","arguments":{"message":"who?"}}`)
	c.reply(c.asked("elicit"), `{"action":"decline"}`)
	c.wantHas(string(c.answer(id).Result), `decline`)
}
