package gateway

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates counts the requests of principals, each of which may send some in a minute, and as many at
// once.
type rates struct {
	perMinute int // 0 is any number

	mu       sync.Mutex
	limiters map[string]*rate.Limiter // of those who have sent some in the last minute, and maybe others
	most     int                      // how many there may be until those of others are removed
}

// minRates is how many limiters are kept without a look at them.
const minRates = 1024

// take counts n requests of a principal. If they are too many, it counts none and returns how long the
// principal has to wait for them.
func (r *rates) take(principal string, n int) (wait time.Duration) {
	if r.perMinute == 0 || principal == "" || n <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	l := r.limiters[principal]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(r.perMinute)/60, r.perMinute)
		r.add(principal, l, now)
	}
	taken := l.ReserveN(now, n)
	if !taken.OK() {
		return time.Minute // more than a minute's requests at once
	}
	if wait = taken.DelayFrom(now); wait > 0 {
		taken.CancelAt(now)
	}
	return wait
}

// add keeps a limiter. A limiter that counts nothing is as good as a new one, so the others are removed.
func (r *rates) add(principal string, l *rate.Limiter, now time.Time) {
	if len(r.limiters) >= r.most {
		for name, l := range r.limiters {
			if l.TokensAt(now) >= float64(r.perMinute) {
				delete(r.limiters, name)
			}
		}
		r.most = max(minRates, 2*len(r.limiters))
	}
	if r.limiters == nil {
		r.limiters = make(map[string]*rate.Limiter)
	}
	r.limiters[principal] = l
}

// tooMany refuses a request that may come later.
func (x *httpExchange) tooMany(wait time.Duration) {
	x.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	x.refuse(http.StatusTooManyRequests, "too many requests of this client in a minute")
}
