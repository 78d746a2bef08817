package term

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ergochat/readline"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// editor is the line editor for one question. It runs readline between the keyboard and the
// screen, draws rows by the width of letters, and ends with the line.
type editor struct {
	keyboard *keyboard
	question Question
	resized  func()    // asks for the size of the terminal anew
	line     io.Writer // makes room above the line, while the editor waits for a key

	where bool  // the terminal was asked where the cursor is
	cause error // why no more keys come
}

// whereIsCursor asks a terminal where the cursor is. atFirstColumn is its answer for the first
// column, in which each question begins. Text that was typed ahead comes before that answer.
const (
	whereIsCursor = "\x1b[6n"
	atFirstColumn = "\x1b[1;1R"
)

// ask reads a line, with the prompt before it on a terminal. There the line can be edited. The
// error may be ErrCancelled, ErrDeclined, ErrBack, errInterrupted, io.EOF, or the cause of ctx.
func (k *keyboard) ask(ctx context.Context, q Question) (string, error) {
	if q.Consent {
		k.flush()
	}
	k.asking, k.back = ctx, q.Back
	if k.mode == nil || k.blind && !q.Secret {
		return k.nextLine()
	}
	if err := k.mode.Enter(); err != nil {
		return "", err
	}
	defer k.mode.Leave()
	k.left = append([]byte(q.Proposed), k.left...)
	text, err := k.editLine(q)
	if err != nil {
		k.left = nil
	}
	return text, err
}

// editLine lets the person edit a line. All other writes to the screen go above it.
func (k *keyboard) editLine(q Question) (string, error) {
	e := &editor{keyboard: k, question: q}
	config := &readline.Config{
		Prompt: q.Prompt, EnableMask: q.Secret, HistoryLimit: -1, DisableAutoSaveHistory: true,
		Stdin: e, Stdout: e, Stderr: e,
		FuncIsTerminal: func() bool { return true },
		FuncMakeRaw:    k.mode.Enter,
		FuncExitRaw:    func() error { k.mode.Leave(); return nil },
		FuncGetSize:    k.screen.room,

		FuncOnWidthChanged:  func(resized func()) { e.resized = resized },
		FuncFilterInputRune: e.accept,
		Painter:             func(line []rune, _ int) []rune { return drawn(line) },
		Listener:            e.complete,
	}
	if q.History != nil {
		config.HistoryLimit = longestHistory
	}
	lines, err := readline.NewFromConfig(config)
	if err != nil {
		return "", fmt.Errorf("cannot edit a line on this terminal: %w", err)
	}
	defer lines.Close()
	if q.History != nil {
		for _, line := range q.History.lines {
			lines.SaveToHistory(line) // it has no file that could fail
		}
	}
	e.line = lines.Stderr()
	k.screen.typing(e.line, q.Above)
	k.screen.pause() // until the editor reads a key
	defer k.screen.typing(nil, "")
	text, err := lines.ReadLine()
	if e.cause != nil {
		return "", e.cause
	}
	if err == nil && q.History != nil {
		q.History.add(text)
	}
	return text, err
}

// Read gives readline the typed keys. At their end it ends the line, so that the cause can be
// returned instead. Only while it waits for one may others write above the line.
func (e *editor) Read(p []byte) (n int, err error) {
	e.resized()
	if e.where {
		e.where = false
		return copy(p, atFirstColumn), nil
	}
	if e.cause == nil {
		screen := e.keyboard.screen
		screen.typing(e.line, e.question.Above)
		n, e.cause = e.keyboard.Read(p)
		screen.pause()
	}
	if e.cause != nil {
		return copy(p, "\r"), nil
	}
	return n, nil
}

// Write puts readline's drawing on the screen, and the text that it has made room for. It begins
// each line at the first column, because the terminal does not do so while keys come as they are
// pressed.
func (e *editor) Write(p []byte) (int, error) {
	if string(p) == whereIsCursor {
		e.where = true
		return len(p), nil
	}
	if _, err := e.keyboard.screen.To.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// editingKeys are the controls that mean something to readline, which would draw others.
const editingKeys = "\x01\x02\x05\x06\x07\x08\n\x0b\x0c\r\x0e\x10\x12\x13\x14\x15\x17\x19\x1a\x7f"

// accept says whether readline gets a key. Keys that it makes of several bytes are below 0.
func (e *editor) accept(key rune) (rune, bool) {
	if key == '\t' {
		return key, e.question.Complete != nil
	}
	return key, !unicode.IsControl(key) || strings.ContainsRune(editingKeys, key)
}

// drawn returns the visible part of a line, without joiners, variation selectors and other
// letters that take no column. Terminals disagree about the width of joined letters.
func drawn(line []rune) []rune {
	shown := make([]rune, 0, len(line))
	for _, r := range line {
		if !unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Variation_Selector, r) {
			shown = append(shown, r)
		}
	}
	return shown
}

// complete answers a Tab, which readline has put into the line.
func (e *editor) complete(line []rune, at int, key rune) ([]rune, int, bool) {
	if key != '\t' {
		return nil, 0, false
	}
	before, after := string(line[:at-1]), string(line[at:])
	before = e.keyboard.complete(e.question.Complete, before)
	return []rune(before + after), len([]rune(before)), true
}

// complete completes the last word of a line whose cursor is at the end. It replaces the word by
// the longest common beginning of all words that it may become. If there is only one, a blank
// follows it, unless the word asks for a value. If nothing can be added, it shows the words.
func (k *keyboard) complete(words func(line string) (int, []string), line string) string {
	begins, found := words(line)
	if len(found) == 0 {
		return line
	}
	common := found[0]
	for _, word := range found[1:] {
		for !strings.HasPrefix(word, common) {
			_, size := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-size]
		}
	}
	if len(found) == 1 && !strings.HasSuffix(common, "=") {
		common += " "
	}
	if len(common) <= len(line)-begins {
		columns, _ := k.screen.room()
		shown := found[:min(len(found), mostShown)]
		io.WriteString(k.screen, strings.Join(plain.WrapWords(plain.Line(strings.Join(shown, " ")), columns-1), "\n")+"\n")
		return line
	}
	return line[:begins] + common
}

// mostShown is how many words are shown at a Tab.
const mostShown = 100
