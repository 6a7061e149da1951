package oci

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// hold is what an owner needs.
type hold struct {
	Owner  string      `json:"owner"`
	Images []heldImage `json:"images"`
}

type heldImage struct {
	Ref    string   `json:"ref"`
	Digest string   `json:"digest"`
	Layers []string `json:"layers"` // diff IDs
}

// Hold keeps the image's layers until Release, also over restarts. owner is the
// task's id. Holding twice is holding once; an owner may hold several images.
// It fails with Kind NotPresent when a layer was evicted since the pull:
// PullOptions.Owner leaves no such gap.
func (s *Store) Hold(owner string, img *Image) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return named("hold", img.Ref, s.holdLocked(owner, img))
}

func (s *Store) holdLocked(owner string, img *Image) error {
	if owner == "" {
		return failf(Internal, nil, "the owner is empty; give the id of the task that needs the image")
	}
	item := heldImage{Ref: img.Ref, Digest: img.Digest, Layers: img.diffIDs}
	for _, d := range item.Layers {
		if s.layers[d] == nil {
			return failf(NotPresent, nil, "layer %s was evicted meanwhile; pull the image again", short(d))
		}
	}
	h := hold{Owner: owner}
	if old := s.holds[owner]; old != nil {
		h.Images = slices.Clone(old.Images)
	}
	if slices.ContainsFunc(h.Images, func(i heldImage) bool { return slices.Equal(i.Layers, item.Layers) && i.Ref == item.Ref }) {
		return nil
	}
	h.Images = append(h.Images, item)
	if err := s.writeJSON(s.path("holds", key(owner)+".json"), h, true); err != nil {
		return err
	}
	s.holds[owner] = &h
	return nil
}

// Release gives back all that an owner holds; an unknown owner is no error.
func (s *Store) Release(owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[owner] == nil {
		return nil
	}
	if err := os.Remove(s.path("holds", key(owner)+".json")); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("release the images of %s: %w", owner, err)
	}
	delete(s.holds, owner)
	if s.opt.MaxBytes > 0 {
		s.evict(s.opt.MaxBytes)
	}
	return nil
}

// Held returns the names of the images by owner.
func (s *Store) Held() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string][]string, len(s.holds))
	for owner, h := range s.holds {
		for _, i := range h.Images {
			out[owner] = append(out[owner], i.Ref)
		}
	}
	return out
}

// owners returns who holds an image, sorted; called with the lock.
func (s *Store) owners(r *record) []string {
	var out []string
	for owner, h := range s.holds {
		if slices.ContainsFunc(h.Images, func(i heldImage) bool { return i.Digest == r.Digest }) {
			out = append(out, owner)
		}
	}
	slices.Sort(out)
	return out
}

func joinShort(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
