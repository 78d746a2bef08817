package redact

// automaton finds many patterns in one pass (Aho and Corasick, 1975), with one step for each byte.
// It does not change after link.
type automaton struct {
	nodes   []node
	root    [256]int32       // the children of node 0
	second  [256]*[256]int32 // the nodes that step reaches from each child of node 0, by byte; most steps end there
	longest int              // bytes of the longest pattern
}

// node is a state of the automaton: a prefix that one or more patterns share. Its children
// are a linked list, except those of the root.
type node struct {
	child, sibling int32
	fail           int32 // the longest proper suffix that is a prefix of a pattern; 0 for none
	shorter        int32 // the longest proper suffix that is a pattern; 0 for none
	depth          int32 // length of the prefix, in bytes
	c              byte
	ends           bool  // the prefix is a pattern
	lost           uint8 // how many bytes the secret has before the pattern
}

// add adds a pattern. lost is how many bytes the secret has before the pattern.
func (a *automaton) add(pattern []byte, lost int) {
	if len(a.nodes) == 0 {
		a.nodes = make([]node, 1)
	}
	at := int32(0)
	for _, c := range pattern {
		next := a.child(at, c)
		if next == 0 {
			next = int32(len(a.nodes))
			a.nodes = append(a.nodes, node{c: c, depth: a.nodes[at].depth + 1, sibling: a.nodes[at].child})
			a.nodes[at].child = next
			if at == 0 {
				a.root[c] = next
			}
		}
		at = next
	}
	n := &a.nodes[at]
	if !n.ends || int(n.lost) > lost {
		n.ends, n.lost = true, uint8(lost)
	}
	a.longest = max(a.longest, len(pattern))
}

func (a *automaton) child(at int32, c byte) int32 {
	if at == 0 {
		return a.root[c]
	}
	next := a.nodes[at].child
	for next != 0 && a.nodes[next].c != c {
		next = a.nodes[next].sibling
	}
	return next
}

// link prepares the automaton for step. It visits shallow nodes first, since the fail of a
// node is shallower than the node.
func (a *automaton) link() {
	if len(a.nodes) == 0 {
		a.nodes = make([]node, 1)
	}
	var queue []int32
	for c, at := range a.root {
		if at == 0 {
			continue
		}
		queue = append(queue, at)
		next := a.root
		for n := a.nodes[at].child; n != 0; n = a.nodes[n].sibling {
			next[a.nodes[n].c] = n
		}
		a.second[c] = &next
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		fail := a.nodes[at].fail
		if a.nodes[at].shorter = fail; !a.nodes[fail].ends {
			a.nodes[at].shorter = a.nodes[fail].shorter
		}
		for n := a.nodes[at].child; n != 0; n = a.nodes[n].sibling {
			a.nodes[n].fail = a.step(fail, a.nodes[n].c)
			queue = append(queue, n)
		}
	}
}

// step returns the node after another byte. The prefix of that node is the longest one that the
// text ends with.
func (a *automaton) step(at int32, c byte) int32 {
	for at != 0 {
		if n := &a.nodes[at]; n.depth == 1 {
			return a.second[n.c][c]
		}
		if next := a.child(at, c); next != 0 {
			return next
		}
		at = a.nodes[at].fail
	}
	return a.root[c]
}
