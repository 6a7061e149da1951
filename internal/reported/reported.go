package reported

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// resting is for how long the curves of a workload stay in memory after its last
// report.
const resting = 10 * time.Minute

// Report is what one task says at one moment.
type Report struct {
	Attempt, Task int
	Step          int64
	Metrics       map[string]float64
	At            time.Time
}

// Store keeps the curves of workloads: those that report in memory, and all of them
// in a file each, which Save writes. It is safe for concurrent use.
type Store struct {
	dir string // empty: nothing is written
	mu  sync.Mutex
	all map[string]*curves
}

// curves are those of one workload.
type curves struct {
	of      map[Key]*Curve
	last    time.Time // when it last reported
	changed bool      // since it was written
	refused bool      // there were more than curvesMost
}

// Open returns the curves that are kept in a folder, which is made; empty: in memory
// alone.
func Open(dir string) (*Store, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("curves of what is reported: %w", err)
		}
	}
	return &Store{dir: dir, all: map[string]*curves{}}, nil
}

// Add keeps a report of a workload. It returns false, and keeps nothing, where the
// same task has said something less than the gap ago.
func (s *Store) Add(id string, r Report, gap time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.all[id]
	if w == nil {
		// A file that cannot be read is begun anew: charts are no records.
		w, _ = s.read(id)
		s.all[id] = w
	}
	pace := Key{Attempt: r.Attempt, Task: r.Task}
	if c := w.of[pace]; c != nil {
		if since := r.At.UnixMilli() - c.Seen; since >= 0 && since < gap.Milliseconds() {
			return false
		}
	}
	w.last, w.changed = r.At, true
	w.add(pace, r, float64(r.Step))
	for name, v := range r.Metrics {
		if name != "" && !math.IsNaN(v) && !math.IsInf(v, 0) {
			w.add(Key{r.Attempt, r.Task, name}, r, v)
		}
	}
	return true
}

func (w *curves) add(k Key, r Report, v float64) {
	c := w.of[k]
	if c == nil {
		if len(w.of) >= curvesMost {
			w.refused = true
			return
		}
		c = newCurve(k)
		w.of[k] = c
	}
	most := pointsMost
	if len(w.of) > curvesFew {
		most = pointsFew
	}
	c.add(r.Step, r.At, v, most)
}

// Of are the curves of a workload that keep finds wanted, in the order of attempts,
// tasks and names, with at most so many points each (0: all). whole says that there
// are no more than are kept.
func (s *Store) Of(id string, keep func(Key) bool, points int) (list []Curve, whole bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.all[id]
	if w == nil {
		if w, err = s.read(id); err != nil {
			return nil, true, err
		}
	}
	for k, c := range w.of {
		if keep(k) {
			list = append(list, c.thinned(points))
		}
	}
	slices.SortFunc(list, func(a, b Curve) int {
		return cmp.Or(a.Attempt-b.Attempt, a.Task-b.Task, cmp.Compare(a.Metric, b.Metric))
	})
	return list, !w.refused, nil
}

// filed is a curve as it is written.
type filed struct {
	Curve
	Steps  []int64   `json:"steps"`
	At     []int64   `json:"at"`
	Values []float64 `json:"values"`
}

// file is what is written of a workload.
type file struct {
	Form    int     `json:"form"`
	Refused bool    `json:"refused,omitempty"`
	Curves  []filed `json:"curves"`
}

const formNow = 1

func (s *Store) path(id string) string { return filepath.Join(s.dir, id+".json") }

// read returns what is kept of a workload on disk: nothing, where there is none or
// it cannot be read.
func (s *Store) read(id string) (*curves, error) {
	w := &curves{of: map[Key]*Curve{}}
	if s.dir == "" {
		return w, nil
	}
	text, err := os.ReadFile(s.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	var f file
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err == nil && f.Form != formNow {
		err = fmt.Errorf("it has form %d, and %d is known here", f.Form, formNow)
	}
	if err != nil {
		return w, fmt.Errorf("curves of %s: %w", id, err)
	}
	w.refused = f.Refused
	for i := range f.Curves {
		c := f.Curves[i].Curve
		n := min(len(f.Curves[i].Steps), len(f.Curves[i].At), len(f.Curves[i].Values))
		c.Points, c.Per = make([]Point, n), max(c.Per, 1)
		for k := range n {
			c.Points[k] = Point{f.Curves[i].Steps[k], f.Curves[i].At[k], f.Curves[i].Values[k]}
		}
		w.of[c.Key] = &c
	}
	return w, nil
}

// text is what is written of a workload.
func (w *curves) text() ([]byte, error) {
	f := file{Form: formNow, Refused: w.refused}
	for _, c := range w.of {
		x := filed{Curve: *c}
		for _, p := range c.Points {
			x.Steps, x.At, x.Values = append(x.Steps, p.Step), append(x.At, p.At), append(x.Values, p.Value)
		}
		f.Curves = append(f.Curves, x)
	}
	return json.Marshal(f)
}

// Save writes what has changed, and lets go of what has rested for long. A crash
// loses what came since.
func (s *Store) Save(now time.Time) error {
	if s.dir == "" {
		return nil
	}
	s.mu.Lock()
	ids := make([]string, 0, len(s.all))
	for id := range s.all {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	var all error
	for _, id := range ids {
		all = errors.Join(all, s.save(id, now))
	}
	return all
}

// save writes the curves of one workload; reports wait no longer than one takes to
// be put into words.
func (s *Store) save(id string, now time.Time) error {
	s.mu.Lock()
	w := s.all[id]
	var text []byte
	var err error
	write := w != nil && w.changed
	if write {
		text, err = w.text()
		w.changed = false
	} else if w != nil && now.Sub(w.last) > resting {
		delete(s.all, id)
	}
	s.mu.Unlock()
	if !write {
		return nil
	}
	if err == nil {
		err = replace(s.path(id), text)
	}
	if err != nil {
		s.mu.Lock()
		w.changed = true
		s.mu.Unlock()
		return fmt.Errorf("curves of %s: %w", id, err)
	}
	return nil
}

// replace gives a file other content in one step. It does not wait for the disk: a
// chart is not worth that, hundreds of times a minute.
func replace(path string, text []byte) error {
	next := path + ".next"
	err := os.WriteFile(next, text, 0o600)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		_ = os.Remove(next)
	}
	return err
}

// Sweep removes the curves of workloads that are gone. An error of gone ends it.
func (s *Store) Sweep(gone func(id string) (bool, error)) error {
	if s.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("curves of what is reported: %w", err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".next"), ".json")
		if !ok {
			continue
		}
		is, err := gone(id)
		if err != nil {
			return err
		}
		if is {
			s.mu.Lock()
			delete(s.all, id)
			err = os.Remove(filepath.Join(s.dir, e.Name()))
			s.mu.Unlock()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("curves of %s: %w", id, err)
			}
		}
	}
	return nil
}
