//go:build linux

package local

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/musterhq/muster/internal/backend/local/taskdir"
)

// notifier wakes those who wait for a change of a file or in a directory. One
// inotify instance serves all: a user may have only 128.
type notifier struct {
	mu      sync.Mutex
	watcher *fsnotify.Watcher
	waiting map[string]map[chan struct{}]struct{} // by watched path
}

func newNotifier() *notifier { return &notifier{waiting: map[string]map[chan struct{}]struct{}{}} }

// listen returns a channel that holds an element whenever something happened
// to one of the paths, or perhaps happened. Where the kernel gives no more
// watches it rings ten times a second. A path that does not exist is left out.
func (b *notifier) listen(paths ...string) (wake <-chan struct{}, done func()) {
	ch := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	failed := false
	if b.watcher == nil {
		w, err := fsnotify.NewBufferedWatcher(256)
		if err == nil {
			b.watcher = w
			go b.run(w)
		}
		failed = err != nil
	}
	for _, p := range paths {
		if b.watcher == nil {
			break
		}
		if b.waiting[p] == nil {
			if err := b.watcher.Add(p); err != nil {
				failed = failed || taskdir.Exists(p)
				continue
			}
		}
		if b.waiting[p] == nil {
			b.waiting[p] = map[chan struct{}]struct{}{}
		}
		b.waiting[p][ch] = struct{}{}
	}
	stop := make(chan struct{})
	if failed {
		go tick(ch, stop)
	}
	return ch, func() {
		close(stop)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range paths {
			chs, ok := b.waiting[p]
			delete(chs, ch)
			if ok && len(chs) == 0 {
				delete(b.waiting, p)
				if b.watcher != nil {
					_ = b.watcher.Remove(p) // it is gone with a deleted file
				}
			}
		}
	}
}

func tick(ch chan struct{}, stop chan struct{}) {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			ring(ch)
		case <-stop:
			return
		}
	}
}

func ring(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (b *notifier) run(w *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			b.mu.Lock()
			for ch := range b.waiting[e.Name] {
				ring(ch)
			}
			for ch := range b.waiting[filepath.Dir(e.Name)] {
				ring(ch)
			}
			b.mu.Unlock()
		case _, ok := <-w.Errors:
			if !ok {
				return
			}
			b.mu.Lock() // an overflow: anything may have happened
			for _, chs := range b.waiting {
				for ch := range chs {
					ring(ch)
				}
			}
			b.mu.Unlock()
		}
	}
}

func (b *notifier) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watcher == nil {
		return nil
	}
	w := b.watcher
	b.watcher = nil
	return w.Close()
}
