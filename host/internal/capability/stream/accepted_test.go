package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// accepted is the grant of one end of a pipe. Its other end and the end of its input come back.
func accepted(as abi.OpenKind, room func(context.Context) error) (g capability.Grant, peer net.Conn, ended chan bool) {
	ours, theirs := net.Pipe()
	ended = make(chan bool, 2)
	return capability.Grant{Name: "main", To: &Accepted{
		As: as, Name: "editor", Stream: ours, AwaitRoom: room, InputEnded: func() { ended <- true },
	}}, theirs, ended
}

func always(context.Context) error { return nil }

// The stream of a client is opened once, as what the plugin opens.
func TestAcceptedOpensOnce(t *testing.T) {
	for _, kind := range []abi.OpenKind{abi.OpenStream, abi.OpenProcess} {
		g, peer, _ := accepted(kind, always)
		defer peer.Close()
		table := captest.NewTable(t, captest.Patient(g))
		r := captest.NewRecorder()
		s := captest.Open(t, table, kind, r)
		r.UntilWord("opened")
		s.Write([]byte("ahoy"), false)
		s.Flush()
		buf := make([]byte, 4)
		if _, err := io.ReadFull(peer, buf); string(buf) != "ahoy" || err != nil {
			t.Errorf("the client got %q, %v", buf, err)
		}
		s.Close()
		if _, err := io.ReadAll(peer); err != nil { // until the handle is gone
			t.Error(err)
		}
		for range 2 {
			if _, status, err := table.Open(kind, &abi.OpenRequest{Grant: "main"}, captest.NewRecorder()); status != abi.LimitReached || err == nil {
				t.Errorf("%v: opened again: %v, %v", kind, status, err)
			}
		}
	}
}

// The guest does not hear of the end of a client, and a last line without a line break gets one.
func TestAcceptedInputEnds(t *testing.T) {
	for sent, want := range map[string]string{"one\ntwo": "one\ntwo\n", "one\n": "one\n", "": ""} {
		g, peer, ended := accepted(abi.OpenStream, always)
		r := captest.NewRecorder()
		s := captest.Open(t, captest.NewTable(t, captest.Patient(g)), abi.OpenStream, r)
		io.WriteString(peer, sent)
		peer.Close()
		<-ended
		s.Close()
		if string(r.Bytes) != want || len(ended) > 0 {
			t.Errorf("%q: the guest got %q, and %d ends more", sent, r.Bytes, len(ended))
		}
	}
}

// Nothing is read while there is no room.
func TestAcceptedWaitsForRoom(t *testing.T) {
	asked := make(chan bool, 1)
	g, peer, ended := accepted(abi.OpenStream, func(context.Context) error {
		asked <- true
		return errors.New("no room")
	})
	r := captest.NewRecorder()
	s := captest.Open(t, captest.NewTable(t, captest.Patient(g)), abi.OpenStream, r)
	<-asked
	s.Close()
	if n, err := peer.Write([]byte("more")); n > 0 || err == nil {
		t.Errorf("%d bytes were read, %v", n, err)
	}
	if len(r.Bytes)+len(ended) > 0 {
		t.Errorf("the guest got %q", r.Bytes)
	}
}

// files is a stream of two pipes.
type files struct{ in, out *os.File }

func (f files) Read(p []byte) (int, error)  { return f.in.Read(p) }
func (f files) Write(p []byte) (int, error) { return f.out.Write(p) }
func (f files) Files() (in, out *os.File)   { return f.in, f.out }
func (f files) CloseWrite() error           { return f.out.Close() }
func (f files) Close() error                { f.out.Close(); return f.in.Close() }

// A client on two pipes gets more than a pipe holds, without a goroutine that writes while it reads
// on, and the end after the last byte.
func TestAcceptedFiles(t *testing.T) {
	in, toHost, err := os.Pipe()
	fromHost, out, err2 := os.Pipe()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	ended := make(chan bool, 1)
	a := &Accepted{As: abi.OpenStream, Name: "editor", Stream: files{in, out}, AwaitRoom: always, InputEnded: func() { ended <- true }}
	if _, to, err := a.ends(); err != nil || runtime.GOOS == "linux" && reflect.TypeOf(to) != reflect.TypeFor[*FDOutput]() {
		t.Errorf("%T, %v", to, err)
	}
	r := captest.NewRecorder()
	s := captest.Open(t, captest.NewTable(t, captest.Patient(capability.Grant{Name: "main", To: a})), abi.OpenStream, r)
	io.WriteString(toHost, "one\n")
	toHost.Close()
	<-ended
	long := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	s.Write(long, false)
	s.Flush()
	s.Close()
	if got, err := io.ReadAll(fromHost); !bytes.Equal(got, long) || err != nil {
		t.Errorf("the client got %d bytes, %v", len(got), err)
	}
	if string(r.Bytes) != "one\n" {
		t.Errorf("the guest got %q", r.Bytes)
	}
}
