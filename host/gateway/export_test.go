package gateway

import "time"

// SetParkTime changes how long clients may take to answer.
func (g *Gateway) SetParkTime(d time.Duration) { g.parkTime = d }
