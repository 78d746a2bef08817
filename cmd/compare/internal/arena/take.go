package arena

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/measure"
)

// take does one run in a new process, and measures the foreign load meanwhile.
func (p *Plan) take(ctx context.Context, r Run) (Run, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, errStuck)
	defer cancel()
	command, err := p.command(ctx, r)
	if err != nil {
		return Run{}, err
	}
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint

	start, busy := time.Now(), busyTime()
	if err := startOn(command, r.Pinned); err != nil {
		return Run{}, err
	}
	if err := command.Wait(); err != nil {
		return Run{}, fmt.Errorf("%w: %s", cmp.Or(context.Cause(ctx), err), strings.TrimSpace(complaint.String()))
	}
	elapsed := time.Since(start)
	if busy > 0 {
		own := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
		r.Foreign = max((busyTime()-busy-own).Seconds()/elapsed.Seconds(), 0)
	}
	return r, json.Unmarshal(out.Bytes(), &r.Values)
}

// Work is the first argument that makes the program do a job, which is the second
// argument.
const Work = "work"

func (p *Plan) command(ctx context.Context, r Run) (*exec.Cmd, error) {
	job := p.Job
	job.Measure, job.Contestant = r.Measure, r.Contestant
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, p.Program, Work, string(text))
	command.WaitDelay = time.Second // its server may hold the output open
	return command, nil
}

// DoJob runs in the new process: it does a job and returns the text to print.
func DoJob(ctx context.Context, text string) ([]byte, error) {
	var job measure.Job
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return nil, fmt.Errorf("read the job: %w", err)
	}
	values, err := measure.Take(ctx, job)
	if err != nil {
		return nil, err
	}
	return json.Marshal(values)
}
