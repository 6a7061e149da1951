//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/oci"
)

// pulls lets tasks that want the same image share one pull: a gang of hundreds
// asks the registry once.
type pulls struct {
	mu      sync.Mutex
	flights map[string]*flight
	running sync.WaitGroup
}

// flight is one pull and those who wait for it.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{}
	image  container.Image
	err    error

	mu       sync.Mutex
	waiting  map[*preparation]func(string, *core.Pull)
	reported time.Time
	last     string // what was told, for those who join later
	far      *core.Pull
}

// flightKey tells pulls apart: who may see an image depends on the credentials.
func flightKey(a backend.Assignment) string {
	key, _ := json.Marshal([]any{a.Image, a.Pull, a.Credentials}) // strings only: it cannot fail
	return string(key)
}

// pull joins a pull of the image, or begins one. tell hears of progress at most
// once a second. The pull ends when all who wait for it have given up.
func (p *pulls) pull(ctx context.Context, images Images, prep *preparation, report func(string, *core.Pull)) (container.Image, error) {
	key := flightKey(prep.a)
	p.mu.Lock()
	f := p.flights[key]
	if f == nil {
		f = &flight{done: make(chan struct{}), waiting: map[*preparation]func(string, *core.Pull){}}
		var own context.Context
		own, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		p.flights[key] = f
		p.running.Go(func() { p.fly(own, key, f, images, prep.a) })
	}
	f.mu.Lock()
	f.waiting[prep] = report
	if f.last != "" {
		report(f.last, f.far)
	}
	f.mu.Unlock()
	p.mu.Unlock()
	select {
	case <-f.done:
		return f.image, f.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	f.mu.Lock()
	delete(f.waiting, prep)
	if len(f.waiting) == 0 {
		f.cancel()
		if p.flights[key] == f {
			delete(p.flights, key)
		}
	}
	f.mu.Unlock()
	p.mu.Unlock()
	return container.Image{}, ctx.Err()
}

func (p *pulls) fly(ctx context.Context, key string, f *flight, images Images, a backend.Assignment) {
	defer f.cancel()
	f.image, f.err = images.Pull(ctx, a.Image, PullOptions{Policy: a.Pull, Credentials: a.Credentials}, func(g PullProgress) {
		f.progress(a.Image, g)
	})
	p.mu.Lock()
	if p.flights[key] == f {
		delete(p.flights, key)
	}
	p.mu.Unlock()
	close(f.done)
}

func (f *flight) progress(ref string, g PullProgress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if now.Sub(f.reported) < time.Second {
		return
	}
	text := pullText(ref, g)
	f.reported, f.last = now, text
	f.far = &core.Pull{Layers: g.Layers, Done: g.Done, Bytes: g.Bytes, Total: g.Total}
	for _, report := range f.waiting {
		report(text, f.far)
	}
}

func pullText(ref string, g PullProgress) string {
	text := fmt.Sprintf("pulling %s: %d of %d layers", ref, g.Done, g.Layers)
	if g.Total > 0 {
		text += fmt.Sprintf(", %s", megabytes(g.Bytes, g.Total))
	}
	return text
}

func megabytes(n, of int64) string {
	const mb = 1000 * 1000
	if of < 10*mb { // else a small image would be 0 of 1
		return fmt.Sprintf("%.1f of %.1f MB", float64(n)/mb, float64(of)/mb)
	}
	return fmt.Sprintf("%d of %d MB", n/mb, of/mb)
}

// explainPull returns the message for a pull that is not retried.
func explainPull(ref string, err error, tries int) string {
	again := ""
	if tries > 1 {
		again = fmt.Sprintf(" after %d tries", tries)
	}
	why := err
	var e *oci.Error
	if errors.As(err, &e) { // without naming the image once more
		why = errors.New(e.Text)
	}
	return fmt.Sprintf("the image %s could not be pulled%s: %s. An image fails to be pulled when it is private and the secret of type docker for its registry is missing or wrong, or when its name is not valid",
		ref, again, strings.TrimSuffix(why.Error(), "."))
}
