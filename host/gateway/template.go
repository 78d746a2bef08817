package gateway

import "strings"

// Bounds of a match. A template or a URI that exceeds them matches nothing.
const (
	maxTemplate    = 2000 // letters of a template
	maxExpressions = 16   // of a template
	maxExpansion   = 4096 // letters of a URI
)

// expands reports whether a URI looks like an expansion of a template (RFC 6570). It also accepts
// characters that the RFC would encode, because many servers do. Template and URI are foreign text, so
// its time is bounded.
func expands(template, uri string) bool {
	if len(template) > maxTemplate || strings.Count(template, "{") > maxExpressions || len(uri) > maxExpansion {
		return false
	}
	ends := make([]bool, len(uri)+1) // the places in the URI at which an expansion of the template read so far may end
	ends[0] = true
	for literal, rest := "", template; ; {
		var expression string
		var more, closed bool
		literal, rest, more = strings.Cut(rest, "{")
		if ends = endsOfLiteral(ends, uri, literal); ends == nil || !more {
			break
		}
		if expression, rest, closed = strings.Cut(rest, "}"); !closed {
			return false
		}
		ends = endsOfExpression(ends, uri, expression)
	}
	return ends != nil && ends[len(uri)]
}

// endsOfLiteral returns the places at which the literal ends that begins at one of the starts. It returns
// nil if the literal stands at none of them.
func endsOfLiteral(starts []bool, uri, literal string) (ends []bool) {
	for at, start := range starts {
		if !start || !strings.HasPrefix(uri[at:], literal) {
			continue
		}
		if ends == nil {
			ends = make([]bool, len(starts))
		}
		ends[at+len(literal)] = true
	}
	return ends
}

// endsOfExpression returns the places at which the value of an expression can end if it begins at
// one of the starts. Every value may be empty. With an operator of ./;?&# a value that is not
// empty begins with that letter. Without an operator it has no slash.
func endsOfExpression(starts []bool, uri, expression string) []bool {
	first, slashes := byte(0), strings.HasSuffix(expression, "*")
	if expression != "" {
		switch op := expression[0]; op {
		case '.', ';':
			first = op
		case '/', '?', '&', '#':
			first, slashes = op, true
		case '+':
			slashes = true
		}
	}
	ends := make([]bool, len(starts))
	within := false // a value that has begun can include the letter before
	for at := range starts {
		ends[at] = starts[at] || within
		if at == len(uri) {
			break
		}
		begins := starts[at] && (first == 0 || uri[at] == first)
		within = (within || begins) && (slashes || uri[at] != '/')
	}
	return ends
}
