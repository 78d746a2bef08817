//go:build !linux

package measure

// Memory is only known on Linux; elsewhere it shows as 0.
func resident() float64     { return 0 }
func residentPeak() float64 { return 0 }
func mapped() footprint     { return footprint{} }
