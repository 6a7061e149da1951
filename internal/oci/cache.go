package oci

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ErrInUse says that somebody holds the image.
var ErrInUse = errors.New("the image is in use")

// layer is one directory below layers/.
type layer struct {
	DiffID string `json:"diffID"`
	Size   int64  `json:"size"` // bytes on disk, about
	// Boot is the start of the machine in which the layer was written, until it
	// is known to be on the disk: after another start it cannot be trusted.
	Boot string `json:"boot,omitempty"`

	used time.Time
}

// record is what a name stood for when it was pulled.
type record struct {
	Ref    string    `json:"ref"` // in full, as registries spell it
	Digest string    `json:"digest"`
	Config Config    `json:"config"`
	Layers []string  `json:"layers"` // diff IDs, lowest first
	Size   int64     `json:"size"`   // compressed, bytes
	Pulled time.Time `json:"pulled"`
}

// ImageInfo is an image of the cache.
type ImageInfo struct {
	Ref    string // in full, e.g. index.docker.io/library/ubuntu:24.04
	Digest string
	Size   int64 // unpacked, in bytes, layers shared with others included
	Pulled time.Time
	Used   time.Time
	Owners []string // who holds it
}

// Usage is how much the cache takes, in bytes.
type Usage struct {
	Layers    int
	Bytes     int64 // layers and downloads
	HeldBytes int64 // of them, of layers that cannot be evicted now
	MaxBytes  int64 // 0: no limit
}

func key(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// writeJSON replaces a file so that a crash leaves the old one or the new one.
func (s *Store) writeJSON(path string, v any, durable bool) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(s.path("tmp"), "json-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil && durable {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if durable {
		return syncDir(filepath.Dir(path))
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// addLayer makes a finished tree a layer.
func (s *Store) addLayer(diffID, tree string, size int64) error {
	l := &layer{DiffID: diffID, Size: size, Boot: cmp.Or(bootID(), "unknown"), used: s.opt.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.layers[diffID] != nil {
		return nil // made through another compression of the same bytes
	}
	meta := s.path("meta", hexOf(diffID)+".json")
	if err := s.writeJSON(meta, l, false); err != nil {
		return err
	}
	if err := os.Rename(tree, s.layerDir(diffID)); err != nil {
		os.Remove(meta)
		return err
	}
	s.layers[diffID] = l
	s.touch(l)
	return nil
}

// touch marks a layer as used now; called with the lock.
func (s *Store) touch(l *layer) {
	l.used = s.opt.Now()
	if err := os.Chtimes(s.path("meta", hexOf(l.DiffID)+".json"), l.used, l.used); err != nil {
		s.opt.Log.Warn("the last use of a layer could not be noted", "layer", l.DiffID, "err", err)
	}
}

// dropLayer removes a layer; called with the lock. The tree leaves its place at
// once and is deleted after, so that a crash leaves no half of it there.
func (s *Store) dropLayer(diffID string) error {
	gone, err := os.MkdirTemp(s.path("tmp"), "gone-")
	if err != nil {
		// On a full disk even that may fail: without its description the tree
		// does not count any more, and Open removes what is left of it.
		if err := os.Remove(s.path("meta", hexOf(diffID)+".json")); err != nil {
			return err
		}
		gone = ""
	}
	delete(s.layers, diffID)
	for ref, r := range s.images {
		if slices.Contains(r.Layers, diffID) {
			s.dropRecord(ref)
		}
	}
	if gone == "" {
		return os.RemoveAll(s.layerDir(diffID))
	}
	if err := os.Rename(s.layerDir(diffID), filepath.Join(gone, "tree")); err != nil {
		return err
	}
	os.Remove(s.path("meta", hexOf(diffID)+".json"))
	return os.RemoveAll(gone)
}

func (s *Store) dropRecord(ref string) {
	delete(s.images, ref)
	if err := os.Remove(s.path("images", key(ref)+".json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.opt.Log.Warn("the record of an image could not be removed", "image", ref, "err", err)
	}
}

// kept is the set of layers that may not be evicted; called with the lock.
func (s *Store) kept() map[string]bool {
	kept := map[string]bool{}
	for d := range s.pins {
		kept[d] = true
	}
	for _, h := range s.holds {
		for _, i := range h.Images {
			for _, d := range i.Layers {
				kept[d] = true
			}
		}
	}
	return kept
}

// evict removes the layers that were used the longest ago, then downloads that
// were broken off, until at most limit bytes are left; called with the lock.
// It says whether it removed anything.
func (s *Store) evict(limit int64) (any bool) {
	total := s.bytes()
	kept := s.kept()
	for _, l := range slices.SortedFunc(maps.Values(s.layers), oldestFirst) {
		if total <= limit {
			return any
		}
		if kept[l.DiffID] {
			continue
		}
		if err := s.dropLayer(l.DiffID); err != nil {
			s.opt.Log.Error("a layer could not be evicted", "layer", l.DiffID, "err", err)
			continue
		}
		any = true
		total -= l.Size
	}
	for _, p := range s.downloads() {
		if total <= limit || s.parts[p.Name()] {
			continue
		}
		info, err := p.Info()
		if err != nil || os.Remove(s.path("downloads", p.Name())) != nil {
			continue
		}
		any = true
		total -= info.Size()
	}
	return any
}

func oldestFirst(a, b *layer) int {
	return cmp.Or(a.used.Compare(b.used), cmp.Compare(b.Size, a.Size), cmp.Compare(a.DiffID, b.DiffID))
}

// evictAll makes as much room as can be made.
func (s *Store) evictAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evict(0)
}

// makeRoom brings the cache below its limit.
func (s *Store) makeRoom() {
	if s.opt.MaxBytes == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(s.opt.MaxBytes)
}

func (s *Store) downloads() []fs.DirEntry {
	all, err := os.ReadDir(s.path("downloads"))
	if err != nil {
		s.opt.Log.Warn("the downloads cannot be listed", "err", err)
	}
	return all
}

// bytes is what layers and downloads take; called with the lock.
func (s *Store) bytes() (n int64) {
	for _, l := range s.layers {
		n += l.Size
	}
	for _, d := range s.downloads() {
		if info, err := d.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Usage says how much the cache takes.
func (s *Store) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage{Layers: len(s.layers), Bytes: s.bytes(), MaxBytes: s.opt.MaxBytes}
	for d := range s.kept() {
		if l := s.layers[d]; l != nil {
			u.HeldBytes += l.Size
		}
	}
	return u
}

// List returns the images of which every layer is here, by name.
func (s *Store) List() []ImageInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []ImageInfo
	for _, ref := range slices.Sorted(maps.Keys(s.images)) {
		r := s.images[ref]
		info := ImageInfo{Ref: ref, Digest: r.Digest, Pulled: r.Pulled, Owners: s.owners(r)}
		for _, d := range r.Layers {
			info.Size += s.layers[d].Size
			if s.layers[d].used.After(info.Used) {
				info.Used = s.layers[d].used
			}
		}
		out = append(out, info)
	}
	return out
}

// Remove forgets an image and deletes the layers that no other image has and
// nobody holds. An image that is held stays: ErrInUse.
func (s *Store) Remove(ref string) error {
	parsed, err := parseRef(ref)
	if err != nil {
		return named("remove", ref, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.images[parsed.Name()]
	if r == nil {
		return named("remove", ref, failf(NotPresent, nil, "it is not in the image cache; list what is"))
	}
	if owners := s.owners(r); len(owners) > 0 {
		return fmt.Errorf("cannot remove %q: %w by %s; stop it first", ref, ErrInUse, joinShort(owners))
	}
	s.dropRecord(parsed.Name())
	kept := s.kept()
	for _, other := range s.images {
		for _, d := range other.Layers {
			kept[d] = true
		}
	}
	for _, d := range r.Layers {
		if s.layers[d] == nil || kept[d] {
			continue
		}
		if err := s.dropLayer(d); err != nil {
			return named("remove", ref, err)
		}
	}
	return nil
}

// Prune deletes all that nobody holds and returns how many bytes that freed.
func (s *Store) Prune() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.bytes()
	s.evict(0)
	return before - s.bytes()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
