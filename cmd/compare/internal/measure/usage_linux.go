package measure

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// resident returns how much memory this process has, in MB.
func resident() float64 { return memory("VmRSS:") }

// residentPeak returns the most memory that this process ever had, in MB. The figure of
// getrusage would not do: it starts with the size of the process that started this one.
func residentPeak() float64 { return memory("VmHWM:") }

func memory(field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte(field))
	var kib float64
	fmt.Sscan(string(rest[:min(len(rest), 40)]), &kib)
	return kib / 1024
}

// mapped adds up all mappings. It counts files in memory separately, because a page of such
// a file may be mapped in many places, or in none and still take memory.
func mapped() (f footprint) {
	all, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return f
	}
	inMemory := false
	for line := range bytes.Lines(all) {
		name, rest, _ := bytes.Cut(line, []byte(" "))
		size := megabytes(rest)
		switch string(name) {
		case "Rss:":
			f.rss += size
			if !inMemory {
				f.resident += size
			}
		case "Pss:":
			f.pss += size
		case "Private_Dirty:":
			f.dirty += size
		case "Anonymous:":
			if inMemory { // only pages that were written belong to this process alone
				f.resident += size
			}
		default:
			if !bytes.HasSuffix(name, []byte(":")) { // the head of a mapping
				inMemory = bytes.Contains(rest, []byte("/memfd:"))
			}
		}
	}
	f.resident += inFiles()
	return f
}

// inFiles returns the size in MB of all files in memory that this process has open.
func inFiles() (sum float64) {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range open {
		name := "/proc/self/fd/" + fd.Name()
		if to, err := os.Readlink(name); err != nil || !strings.HasPrefix(to, "/memfd:") {
			continue
		}
		if info, err := os.Stat(name); err == nil {
			sum += float64(info.Sys().(*syscall.Stat_t).Blocks) * 512 / (1 << 20)
		}
	}
	return sum
}

// megabytes reads a number of KiB.
func megabytes(text []byte) float64 {
	number, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte(" "))
	kib, _ := strconv.ParseFloat(string(number), 64)
	return kib / 1024
}
