package measure

import (
	"bytes"
	"fmt"
	"os"
)

// resident returns how much memory this process has, in MB.
func resident() float64 { return memory("VmRSS:") }

// residentPeak returns the most it ever had. The figure of getrusage would not
// do: it starts with the size of the process that started this one.
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
