package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Start starts the daemon of this place, detached from this program, in a folder. It returns when the
// daemon has written a line to its stdout, which says that it listens. An error quotes what the daemon
// wrote to its log.
func (p Place) Start(ctx context.Context, argv []string, folder string) error {
	log, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stderr, cmd.SysProcAttr = folder, log, detached()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	listens := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(out).ReadString('\n')
		listens <- err
		cmd.Wait()
	}()
	select {
	case err = <-listens:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	said, _ := io.ReadAll(io.NewSectionReader(log, begin, maxLine))
	if text := strings.TrimSpace(string(said)); text != "" {
		return errors.New("the daemon did not start: " + text)
	}
	return fmt.Errorf("the daemon did not start; %s may say why", p.Log())
}
