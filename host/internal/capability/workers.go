package capability

import "sync"

// maxIdleWorkers is the most goroutines of a table that wait for a job.
const maxIdleWorkers = 16

// Job is what a goroutine of a table runs to its end: an HTTP exchange.
type Job interface{ Complete() }

// workerPool runs jobs. A goroutine that has finished a job waits for the next, because its stack
// has grown to what net/http needs. To grow another stack costs as much as all the rest of an
// exchange.
type workerPool struct {
	next    chan Job
	idle    chan struct{} // holds one token for each goroutine that waits
	closed  chan struct{} // closed when no more jobs come
	once    sync.Once     // closes closed
	workers sync.WaitGroup
}

func newWorkerPool() *workerPool {
	return &workerPool{next: make(chan Job), idle: make(chan struct{}, maxIdleWorkers), closed: make(chan struct{})}
}

// run starts j on a goroutine, and does not wait for it.
func (p *workerPool) run(j Job) {
	select {
	case p.next <- j:
	default:
		p.workers.Go(func() { p.work(j) })
	}
}

// work runs j, and then the jobs that await returns. It is a function of its own so that j
// is not a variable of a closure, which would be allocated for each job.
func (p *workerPool) work(j Job) {
	for ok := true; ok; j, ok = p.await() {
		j.Complete()
	}
}

// await returns the next job. ok is false if none will come, or if enough other goroutines wait.
func (p *workerPool) await() (j Job, ok bool) {
	select {
	case p.idle <- struct{}{}:
	default:
		return nil, false
	}
	defer func() { <-p.idle }()
	select {
	case j := <-p.next:
		return j, true
	case <-p.closed:
		return nil, false
	}
}

// close returns when no goroutine waits any more. No job may be left. It may be called again.
func (p *workerPool) close() {
	p.once.Do(func() { close(p.closed) })
	p.workers.Wait()
}
