package ocitest

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Action is what a fault does to an answer.
type Action int

// The actions.
const (
	Hang    Action = iota // send nothing more after After bytes, and keep the connection
	Cut                   // break the connection after After bytes
	Corrupt               // flip the byte at After
	Slow                  // send Rate bytes a second
	Refuse                // answer Status instead
	NoRange               // answer the whole where a part was asked for
)

// Fault spoils answers.
type Fault struct {
	Do     Action
	Method string // "": all
	Path   string // a part of the path, e.g. /blobs/ or a digest; "": all
	After  int64  // bytes of the body that come first
	Times  int    // how many answers are spoilt; 0: all
	Rate   int64  // bytes a second
	Status int    // of Refuse
	Ranged bool   // only answers to requests for a part
}

// Fault adds one. The first that fits counts.
func (r *Registry) Fault(f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Times == 0 {
		f.Times = -1
	}
	r.faults = append(r.faults, &f)
}

// Heal removes all faults; requests that hang already go on hanging.
func (r *Registry) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = nil
}

func (r *Registry) faultFor(q *http.Request) *Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.faults {
		if f.Times == 0 || f.Method != "" && f.Method != q.Method || !strings.Contains(q.URL.Path, f.Path) || f.Ranged && q.Header.Get("Range") == "" {
			continue
		}
		f.Times--
		return f
	}
	return nil
}

// faulty is an answer that a fault may spoil.
type faulty struct {
	http.ResponseWriter
	request  *http.Request
	registry *Registry
	fault    *Fault
	status   int
	sent     int64
}

func (w *faulty) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *faulty) Write(p []byte) (int, error) {
	f := w.fault
	if f == nil {
		return w.pass(p)
	}
	switch f.Do {
	case Hang, Cut:
		left := f.After - w.sent
		if int64(len(p)) <= left {
			return w.pass(p)
		}
		if left > 0 {
			w.pass(p[:left])
		}
		http.NewResponseController(w.ResponseWriter).Flush()
		if f.Do == Hang {
			select {
			case <-w.request.Context().Done():
			case <-w.registry.closed:
			}
		}
		panic(http.ErrAbortHandler)
	case Corrupt:
		if at := f.After - w.sent; at >= 0 && at < int64(len(p)) {
			p = append([]byte(nil), p...)
			p[at] ^= 0xff
		}
	case Slow:
		return w.drip(p)
	}
	return w.pass(p)
}

func (w *faulty) pass(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.sent += int64(n)
	return n, err
}

// drip sends ten times a second what the rate allows.
func (w *faulty) drip(p []byte) (int, error) {
	total := 0
	for len(p) > 0 {
		n := min(max(w.fault.Rate/10, 1), int64(len(p)))
		sent, err := w.pass(p[:n])
		total += sent
		if err != nil {
			return total, err
		}
		http.NewResponseController(w.ResponseWriter).Flush()
		p = p[n:]
		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.request.Context().Done():
			return total, w.request.Context().Err()
		case <-w.registry.closed:
			panic(http.ErrAbortHandler)
		}
	}
	return total, nil
}

// ReadFrom lets whole files go out without passing through this program, as
// in a registry proper.
func (w *faulty) ReadFrom(r io.Reader) (int64, error) {
	if w.fault != nil {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	n, err := io.Copy(w.ResponseWriter, r)
	w.sent += n
	return n, err
}
