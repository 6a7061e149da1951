package oci

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// staleDownload is after what time nobody is expected to want the rest.
const staleDownload = 7 * 24 * time.Hour

// recover reads what is there and removes what a crash left half done.
func (s *Store) recover() error {
	if err := s.emptyTmp(); err != nil {
		return err
	}
	if err := s.recoverLayers(); err != nil {
		return err
	}
	if err := readAll(s, "images", func(r *record) bool {
		whole := !slices.ContainsFunc(r.Layers, func(d string) bool { return s.layers[d] == nil })
		if whole {
			s.images[r.Ref] = r
		}
		return whole
	}); err != nil {
		return err
	}
	if err := readAll(s, "holds", func(h *hold) bool {
		s.holds[h.Owner] = h
		return h.Owner != ""
	}); err != nil {
		return err
	}
	now := s.opt.Now()
	for _, d := range s.downloads() {
		if info, err := d.Info(); err == nil && now.Sub(info.ModTime()) > staleDownload {
			os.Remove(s.path("downloads", d.Name()))
		}
	}
	return nil
}

func (s *Store) emptyTmp() error {
	entries, err := os.ReadDir(s.path("tmp"))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(s.path("tmp", e.Name())); err != nil {
			return fmt.Errorf("remove what a former process left: %w", err)
		}
	}
	return nil
}

// recoverLayers keeps a layer only if its tree and its description are there
// and it was on the disk before the machine went down.
func (s *Store) recoverLayers() error {
	boot := bootID()
	if err := readAll(s, "meta", func(l *layer) bool {
		if !strings.HasPrefix(l.DiffID, "sha256:") || !hex64.MatchString(hexOf(l.DiffID)) || l.Boot != "" && l.Boot != boot {
			return false
		}
		tree, err := os.Lstat(s.layerDir(l.DiffID))
		if err != nil || !tree.IsDir() {
			return false
		}
		meta, err := os.Stat(s.path("meta", hexOf(l.DiffID)+".json"))
		if err != nil {
			return false
		}
		l.used = meta.ModTime()
		s.layers[l.DiffID] = l
		return true
	}); err != nil {
		return err
	}
	trees, err := os.ReadDir(s.path("layers"))
	if err != nil {
		return err
	}
	for _, t := range trees {
		if s.layers["sha256:"+t.Name()] == nil {
			if err := os.RemoveAll(s.path("layers", t.Name())); err != nil {
				return fmt.Errorf("remove a layer that is not whole: %w", err)
			}
		}
	}
	return nil
}

// readAll reads the JSON files of a directory; those that cannot be read or
// that keep does not want are removed.
func readAll[T any](s *Store, dir string, keep func(*T) bool) error {
	entries, err := os.ReadDir(s.path(dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := s.path(dir, e.Name())
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		v := new(T)
		if err := json.Unmarshal(b, v); err == nil && keep(v) {
			continue
		}
		if err := os.RemoveAll(p); err != nil {
			return err
		}
	}
	return nil
}

// syncer writes layers out behind the pulls, so that a pull is as fast as
// memory allows and a loss of power still leaves nothing half written: see
// layer.Boot.
type syncer struct {
	mu      sync.Mutex
	running bool
	more    bool
	idle    sync.WaitGroup
}

func (y *syncer) wait() { y.idle.Wait() }

// syncSoon starts writing out what was pulled, unless that is under way; then it
// is done once more after.
func (s *Store) syncSoon() {
	y := &s.syncer
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.running {
		y.more = true
		return
	}
	y.running = true
	y.idle.Go(func() {
		for again := true; again; {
			if err := s.syncNow(); err != nil {
				s.opt.Log.Warn("new layers could not be written out; after a loss of power they are pulled again", "err", err)
			}
			y.mu.Lock()
			again, y.more = y.more, false
			y.running = again
			y.mu.Unlock()
		}
	})
}

func (s *Store) syncNow() error {
	s.mu.Lock()
	var fresh []*layer
	for _, l := range s.layers {
		if l.Boot != "" {
			fresh = append(fresh, l)
		}
	}
	s.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	if err := syncDisk(s.opt.Dir); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	for _, l := range fresh {
		if s.layers[l.DiffID] != l {
			continue // evicted meanwhile
		}
		safe := *l
		safe.Boot = ""
		path := s.path("meta", hexOf(l.DiffID)+".json")
		if err := s.writeJSON(path, safe, true); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		l.Boot = ""
		if err := os.Chtimes(path, l.used, l.used); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
