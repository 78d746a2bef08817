package gateway

import (
	"net/http"
	"time"
)

// SetParkTime changes how long clients may take to answer.
func (g *Gateway) SetParkTime(d time.Duration) { g.parkTime = d }

// SetIdle changes how long clients over HTTP are kept without a request.
func SetIdle(h http.Handler, d time.Duration) { h.(*handler).idle = d }
