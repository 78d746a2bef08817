package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is the job object of a child. No descendant can leave it, and it ends with this process. It
// does not hold processes that the child starts in the few microseconds before it joins the job.
type group struct {
	job windows.Handle
}

// prepare sets up the command before its process starts. adopt takes the process after its start.
func (g *group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
		HideWindow:    true,
	}
}

func (g *group) adopt(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("make a job object: %w", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	var process windows.Handle
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		process, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	}
	if err == nil {
		err = windows.AssignProcessToJobObject(job, process)
		windows.CloseHandle(process)
	}
	if err != nil {
		windows.CloseHandle(job)
		return fmt.Errorf("put the process into a job object: %w", err)
	}
	g.job = job
	return nil
}

// whenOver calls f once when the process has ended. f must not wait.
func (g *group) whenOver(cmd *exec.Cmd, f func()) {
	go func() {
		cmd.Wait()
		f()
	}()
}

// terminate returns false: a process without a console cannot be asked to end.
func (g *group) terminate() bool { return false }

// killed is the exit code of processes that kill has ended.
const killed = 1

// kill ends the whole group.
func (g *group) kill() { windows.TerminateJobObject(g.job, killed) }

// leftByItself reports whether a process certainly ended before kill was called. It is
// false for a process with the exit code of kill, and for nil.
func leftByItself(state *os.ProcessState) bool { return state != nil && state.ExitCode() != killed }

// reap collects the process, which must have ended.
func (g *group) reap(cmd *exec.Cmd) *os.ProcessState {
	windows.CloseHandle(g.job)
	return cmd.ProcessState
}
