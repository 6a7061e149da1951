package apicall

import (
	"errors"
	"sync"
	"sync/atomic"
)

// MaxConcurrent is how many requests of one sort are under way at the same time.
const MaxConcurrent = 32

// Each does f to all, so many at once, and joins what goes wrong. Once the API
// server does not answer at all the rest is not tried.
func Each[T any](all []T, limit int, f func(T) error) error {
	if len(all) == 1 {
		return f(all[0])
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
		cut  atomic.Bool
	)
	next := make(chan T)
	for range min(limit, len(all)) {
		wg.Go(func() {
			for x := range next {
				if cut.Load() {
					continue
				}
				err := f(x)
				if err == nil {
					continue
				}
				mu.Lock()
				if away := IsUnanswered(err); !away || !cut.Swap(true) {
					errs = append(errs, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, x := range all {
		next <- x
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}
