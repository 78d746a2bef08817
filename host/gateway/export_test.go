package gateway

import (
	"net/http"
	"time"
)

// SetParkTime changes how long clients may take to answer.
func (g *Gateway) SetParkTime(d time.Duration) { g.parkTime = d }

// Delayed reports whether a start or a sign-in holds up requests.
func (g *Gateway) Delayed() bool {
	_, now := g.delayed()
	return now
}

// SetCopyIdle changes how long a copy has to be idle before it makes room.
func (g *Gateway) SetCopyIdle(d time.Duration) { g.copies.idle = d }

// SetIdle changes how long clients over HTTP are kept without a request.
func SetIdle(h http.Handler, d time.Duration) { h.(*handler).idle = d }
