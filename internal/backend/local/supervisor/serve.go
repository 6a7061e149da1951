//go:build linux

package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"

	"github.com/musterhq/muster/internal/backend/local/protocol"
)

func (k *supervisor) acceptLoop() {
	for {
		conn, err := k.listen.AcceptUnix()
		if err != nil {
			return
		}
		p := &peer{enc: json.NewEncoder(conn), conn: conn}
		k.mu.Lock()
		k.peers[p] = struct{}{} // before the next is let in, who may ask who is there
		k.met = true
		k.checkIdle()
		k.mu.Unlock()
		go func() {
			k.serve(p)
			k.mu.Lock()
			delete(k.peers, p)
			k.checkIdle()
			k.mu.Unlock()
		}()
	}
}

// fence is called for who has just come. What others who are gone had asked for
// last may still be in their connections: it is not begun any more, since who
// comes is told what there is, and may act on it.
func (k *supervisor) fence(p *peer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other := range k.peers {
		if other != p && other.gone() {
			other.left = true
		}
	}
}

func (k *supervisor) serve(p *peer) {
	conn := p.conn
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dec := json.NewDecoder(conn)
	for {
		var q protocol.Request
		if err := dec.Decode(&q); err != nil {
			return // the client is gone, or is none
		}
		var entries []*entry
		switch q.Op {
		case protocol.OpHello:
			k.fence(p)
		case protocol.OpStart:
			entries = k.enter(q.Tasks, p)
		case protocol.OpWatch:
			go k.watch(ctx, p, q.Serial)
			continue
		case protocol.OpExec, protocol.OpInput:
			go func() {
				if k.lend(ctx, p, q) != nil {
					_ = conn.Close()
				}
			}()
			continue
		}
		go func() {
			r := k.handle(ctx, q, entries)
			r.Serial = q.Serial
			if p.send(r) != nil {
				_ = conn.Close()
			}
		}()
	}
}

func (k *supervisor) handle(ctx context.Context, q protocol.Request, entries []*entry) (r protocol.Reply) {
	var err error
	switch q.Op {
	case protocol.OpHello:
		r.Version, r.PID = protocol.Version, k.pid
	case protocol.OpStart:
		err = k.startAll(entries)
	case protocol.OpStop:
		err = k.stop(q.IDs, q.Grace)
	case protocol.OpObserve:
		k.mu.Lock()
		r.Seen = k.snapshot(q.IDs...)
		k.mu.Unlock()
	case protocol.OpEOF:
		for _, id := range q.IDs {
			if t := k.running(id); t != nil {
				t.endInput()
			}
		}
	case protocol.OpForget:
		err = k.forget(q.IDs)
	case protocol.OpRetire:
		k.mu.Lock()
		k.retiring = true
		k.checkIdle()
		k.mu.Unlock()
	case protocol.OpReplace:
		err = k.replace(ctx, q.Argv)
	default:
		err = fmt.Errorf("operation %q is not known to supervisor version %d", q.Op, protocol.Version)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// watch streams until the connection ends.
func (k *supervisor) watch(ctx context.Context, p *peer, serial uint64) {
	w := &protocol.Backlog{Wake: make(chan struct{}, 1)}
	k.mu.Lock()
	seen := k.snapshot()
	k.watchers[w] = struct{}{}
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		delete(k.watchers, w)
		k.mu.Unlock()
	}()
	for {
		if p.send(protocol.Reply{Serial: serial, Seen: seen}) != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-w.Wake:
		}
		var over bool
		if seen, over = w.Take(); over {
			k.mu.Lock()
			seen = k.snapshot()
			k.mu.Unlock()
		}
	}
}

// startAll starts a batch, a few at a time: preparing one overlaps with
// forking another.
func (k *supervisor) startAll(tasks []*entry) error {
	if len(tasks) == 1 {
		return k.startOne(tasks[0])
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
		fails int
		slots = make(chan struct{}, 2*runtime.NumCPU())
	)
	for _, a := range tasks {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := k.startOne(a); err != nil {
				mu.Lock()
				if fails++; first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if fails > 1 {
		return fmt.Errorf("%d of %d tasks could not be started; the first: %w", fails, len(tasks), first)
	}
	return first
}
