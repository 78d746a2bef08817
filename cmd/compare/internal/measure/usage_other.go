//go:build !linux

package measure

// What a process uses is measured on Linux only; elsewhere it is 0.
func resident() float64     { return 0 }
func residentPeak() float64 { return 0 }
func mapped() footprint     { return footprint{} }
