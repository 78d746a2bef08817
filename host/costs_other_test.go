//go:build !unix

package host_test

import "time"

var costsBegan = time.Now()

// busyMicros is how long this process has been there, where the system does not say
// what it used.
func busyMicros() float64 { return micros(costsBegan) }
