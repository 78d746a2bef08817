package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// resources puts the process into a job object, which has limits and which it cannot leave.
// Jobs are nested, so a process may be confined again; the lowest limits count. Memory is the
// committed memory of the process, so memory that it has already counts too. There are no
// limits of files and descriptors. The handle is never closed: the job lasts as long as the
// process.
func resources(l Limits) error {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	basic := &info.BasicLimitInformation
	basic.LimitFlags = windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION | windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
	basic.ActiveProcessLimit = 1 // it starts nothing
	if l.CPU > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_TIME
		basic.PerProcessUserTimeLimit = int64(l.CPU) * 10_000_000 // of 100 ns each
	}
	if l.Memory > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY
		info.ProcessMemoryLimit = uintptr(l.Memory)
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err == nil {
		_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
			uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	}
	if err == nil {
		err = windows.AssignProcessToJobObject(job, windows.CurrentProcess())
	}
	if err != nil {
		return fmt.Errorf("limit the process by a job object: %w", err)
	}
	return nil
}
