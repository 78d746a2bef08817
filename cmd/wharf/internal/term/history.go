package term

// History is the lines that a person has typed at questions of one kind, the newest last.
type History struct{ lines []string }

const longestHistory = 1000

// add adds a line, unless the line begins with a blank or is the same as the last.
func (h *History) add(line string) {
	if line == "" || line[0] == ' ' || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > longestHistory {
		h.lines = h.lines[1:]
	}
}
