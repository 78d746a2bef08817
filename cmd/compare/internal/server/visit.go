package server

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// visit serves one HTTP connection. The embedded conn answers; its reply is the whole
// response. The head is written before the body, and the length is filled in when it is
// known.
type visit struct {
	conn
	requests *bufio.Reader
	body     []byte
}

// head holds the parts of a request's head that the server needs.
type head struct {
	post   bool
	form   Form
	length int
}

var errHead = errors.New("expected a request of HTTP/1.1 with a Content-Length")

// next reads a request and returns the response to it, which is valid until the
// next call.
func (v *visit) next() ([]byte, error) {
	h, err := v.head()
	if err != nil {
		return nil, err
	}
	if cap(v.body) < h.length {
		v.body = make([]byte, h.length)
	}
	v.body = v.body[:h.length]
	if _, err := io.ReadFull(v.requests, v.body); err != nil {
		return nil, err
	}
	switch {
	case !h.post:
		return []byte(onlyPOST), nil
	case h.form == Events:
		return v.stream()
	case h.form == JSON:
		return v.plain()
	default:
		return []byte(notFound), nil
	}
}

// head reads up to the empty line.
func (v *visit) head() (h head, err error) {
	line, err := v.requests.ReadSlice('\n')
	if err != nil {
		return h, err
	}
	method, rest, _ := bytes.Cut(line, []byte(" /"))
	path, _, ok := bytes.Cut(rest, []byte(" HTTP/1.1"))
	if !ok {
		return h, errHead
	}
	h.post, h.form = string(method) == "POST", Form(path)
	for {
		if line, err = v.requests.ReadSlice('\n'); err != nil {
			return h, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return h, nil
		}
		if err := h.field(line); err != nil {
			return h, err
		}
	}
}

// field reads the length of the body from a header line, if it is there.
func (h *head) field(line []byte) (err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		h.length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
		if err == nil && (h.length < 0 || h.length > mostBody) {
			err = errHead
		}
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		err = errHead
	}
	return err
}

// mostBody bounds a request: it is several times the largest echo.
const mostBody = 16 << 20

// The parts of responses. The length of the body takes the place of the last blanks or zeros:
// the value of a header may begin with blanks, and the size of a chunk with zeros.
const (
	plainHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
	streamTop = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n"
	accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
	onlyPOST = "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n"
	notFound = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

	blanks     = "          "
	zeros      = "00000000"
	endOfHead  = "\r\n\r\n"
	beforeData = "event: message\ndata: "
	afterData  = "\n\r\n0\r\n\r\n" // the end of the event, of the chunk, and of all chunks
)

// plain answers with a message.
func (v *visit) plain() ([]byte, error) {
	v.reply = append(v.reply[:0], plainHead+blanks+endOfHead...)
	start := len(v.reply)
	if err := v.answer(v.body); err != nil {
		return nil, err
	}
	if len(v.reply) == start {
		return []byte(accepted), nil
	}
	v.fill(start-len(endOfHead), len(v.reply)-start, 10)
	return v.reply, nil
}

// stream answers with an event in a chunk, as a server does that may have more to say. The
// newline that ends the message also ends the line of the event.
func (v *visit) stream() ([]byte, error) {
	v.reply = append(v.reply[:0], streamTop+zeros+"\r\n"...)
	start := len(v.reply)
	v.reply = append(v.reply, beforeData...)
	event := len(v.reply)
	if err := v.answer(v.body); err != nil {
		return nil, err
	}
	if len(v.reply) == event {
		return []byte(accepted), nil
	}
	v.reply = append(v.reply, afterData...)
	v.fill(start-len("\r\n"), len(v.reply)-start-len(afterData)+len("\n"), 16)
	return v.reply, nil
}

// Message returns the message in the body of an answer of this server. It finds the message
// by the bytes around it.
func Message(body []byte) []byte { return bytes.TrimPrefix(body, []byte(beforeData)) }

// fill writes a number whose last digit stands before the offset end.
func (v *visit) fill(end, n, base int) {
	var digits [20]byte
	d := strconv.AppendInt(digits[:0], int64(n), base)
	copy(v.reply[end-len(d):], d)
}
