package oci

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// PullPolicy says when the registry is asked.
type PullPolicy string

// The policies.
const (
	// IfNotPresent asks only when the image is not in the cache.
	IfNotPresent PullPolicy = "IfNotPresent"
	// Always asks what the name stands for now; layers that are here are not
	// fetched again.
	Always PullPolicy = "Always"
	// Never takes what is in the cache or fails with NotPresent.
	Never PullPolicy = "Never"
)

// PullOptions say how an image is pulled.
type PullOptions struct {
	Policy      PullPolicy // "": IfNotPresent
	Credentials []Credential
	// Owner, when set, holds the image from before it could be evicted.
	Owner string
	// Progress is told from time to time, never at the same time twice, how far
	// the pull is; a last time when it has succeeded.
	Progress func(Progress)
}

// Progress is how far a pull is. Bytes count what is downloaded, compressed;
// layers that were here already count as whole.
type Progress struct {
	Layers, LayersDone int
	Bytes, Total       int64
}

// Image is a pulled image, ready to be stacked.
type Image struct {
	Ref    string // as it was asked for
	Digest string // of the manifest for this platform
	// Layers are directories with whiteouts as overlayfs has them, lowest first.
	// The paths of some thirty fill the page that mount(2) takes: mount more of
	// them with fsconfig(2) and lowerdir+, or by paths relative to Store.Dir.
	Layers []string
	Config Config
	Size   int64 // compressed, in bytes

	diffIDs []string
}

// Config is what an image says about how it is run.
type Config struct {
	Env          []string          `json:"env,omitempty"`
	Entrypoint   []string          `json:"entrypoint,omitempty"`
	Cmd          []string          `json:"cmd,omitempty"`
	User         string            `json:"user,omitempty"`
	WorkingDir   string            `json:"workingDir,omitempty"`
	StopSignal   string            `json:"stopSignal,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	ExposedPorts []string          `json:"exposedPorts,omitempty"`
	Volumes      []string          `json:"volumes,omitempty"`
}

// Pull makes the image's layers present. Errors are *Error.
func (s *Store) Pull(ctx context.Context, ref string, o PullOptions) (*Image, error) {
	img, err := s.pull(ctx, ref, o)
	if err != nil {
		return nil, named("pull", ref, err)
	}
	return img, nil
}

func (s *Store) pull(ctx context.Context, ref string, o PullOptions) (*Image, error) {
	parsed, err := parseRef(ref)
	if err != nil {
		return nil, err
	}
	switch o.Policy {
	case "", IfNotPresent, Never:
		img, err := s.present(parsed.Name(), ref, o.Owner)
		if img != nil || err != nil {
			return img, err
		}
		if o.Policy == Never {
			return nil, failf(NotPresent, nil, "it is not in the image cache, and the pull policy is Never; pull it first, or use the policy IfNotPresent")
		}
	case Always:
	default:
		return nil, failf(Internal, nil, "the pull policy %q is none of Always, IfNotPresent and Never", o.Policy)
	}
	if s.cannot != nil {
		return nil, s.cannot
	}
	var f *found
	sess, err := s.wire.login(ctx, parsed, o.Credentials, transport.PullScope, func(c *session) (err error) {
		f, err = c.fetch(ctx, parsed, s.platform)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.pullLayers(ctx, sess, parsed, ref, f, o)
}

// login tries the credentials that fit, one after the other, until try is not
// refused.
func (w *wire) login(ctx context.Context, ref name.Reference, all []Credential, scope string, try func(*session) error) (*session, error) {
	var tried []*Credential
	var refused *Error
	for _, cred := range matching(all, ref.Context()) {
		tried = append(tried, cred)
		sess, err := w.connect(ctx, ref.Context(), cred, scope)
		if err == nil {
			err = try(sess)
		}
		if err == nil {
			return sess, nil
		}
		if e := classify(err); e.Kind != Denied {
			return nil, e
		} else {
			refused = e
		}
	}
	return nil, denied(refused, ref.Context().RegistryStr(), tried)
}

// present returns the image from the cache, nil when it is not whole there.
func (s *Store) present(full, ref, owner string) (*Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.images[full]
	if r == nil {
		return nil, nil
	}
	img := s.imageOf(r, ref)
	for _, d := range r.Layers {
		s.touch(s.layers[d])
	}
	if owner != "" {
		if err := s.holdLocked(owner, img); err != nil {
			return nil, err
		}
	}
	return img, nil
}

func (s *Store) imageOf(r *record, ref string) *Image {
	img := &Image{Ref: ref, Digest: r.Digest, Config: r.Config, Size: r.Size, diffIDs: r.Layers}
	for _, d := range r.Layers {
		img.Layers = append(img.Layers, s.layerDir(d))
	}
	return img
}

func (s *Store) pullLayers(ctx context.Context, sess *session, parsed name.Reference, ref string, f *found, o PullOptions) (*Image, error) {
	r := &record{Ref: parsed.Name(), Digest: f.digest.String(), Config: configOf(f.config)}
	wants := make([]want, len(f.manifest.Layers))
	for i, l := range f.manifest.Layers {
		wants[i] = want{digest: l.Digest.String(), diffID: f.config.RootFS.DiffIDs[i].String(), size: l.Size}
		r.Layers = append(r.Layers, wants[i].diffID)
		r.Size += l.Size
	}
	s.pin(r.Layers, 1)
	defer s.makeRoom()
	defer s.pin(r.Layers, -1)
	p := newProgress(wants)
	stop := p.report(o.Progress)
	err := s.ensureAll(ctx, sess, wants, p)
	stop(err == nil)
	if err != nil {
		return nil, err
	}
	s.syncSoon()
	return s.admit(r, ref, o.Owner)
}

// ensureAll makes all layers at the same time; the first failure stops the others.
func (s *Store) ensureAll(ctx context.Context, sess *session, wants []want, p *progress) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	seen := map[string]bool{}
	for i, w := range wants {
		if seen[w.diffID] {
			p.finish(i) // an image may have the same layer twice
			continue
		}
		seen[w.diffID] = true
		all.Go(func() {
			if err := s.ensure(ctx, sess, w, &p.got[i]); err != nil {
				cancel(err)
				return
			}
			p.finish(i)
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// admit records the image and holds it while its layers are still pinned.
func (s *Store) admit(r *record, ref, owner string) (*Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Pulled = s.opt.Now().UTC()
	if err := s.writeJSON(s.path("images", key(r.Ref)+".json"), r, false); err != nil {
		return nil, err
	}
	s.images[r.Ref] = r
	for _, d := range r.Layers {
		s.touch(s.layers[d])
	}
	img := s.imageOf(r, ref)
	if owner != "" {
		if err := s.holdLocked(owner, img); err != nil {
			return nil, err
		}
	}
	return img, nil
}

func (s *Store) pin(diffIDs []string, by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range diffIDs {
		if s.pins[d] += by; s.pins[d] == 0 {
			delete(s.pins, d)
		}
	}
}

func configOf(c *v1.ConfigFile) Config {
	return Config{
		Env: c.Config.Env, Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd,
		User: c.Config.User, WorkingDir: c.Config.WorkingDir, StopSignal: c.Config.StopSignal,
		Labels: c.Config.Labels, ExposedPorts: sortedKeys(c.Config.ExposedPorts), Volumes: sortedKeys(c.Config.Volumes),
	}
}

// progress collects what the layers have.
type progress struct {
	wants []want
	got   []atomic.Pointer[atomic.Int64]
	done  []atomic.Bool
}

func newProgress(wants []want) *progress {
	return &progress{wants: wants, got: make([]atomic.Pointer[atomic.Int64], len(wants)), done: make([]atomic.Bool, len(wants))}
}

func (p *progress) finish(i int) { p.done[i].Store(true) }

func (p *progress) now() Progress {
	out := Progress{Layers: len(p.wants)}
	for i, w := range p.wants {
		out.Total += w.size
		if p.done[i].Load() {
			out.LayersDone++
			out.Bytes += w.size
		} else if n := p.got[i].Load(); n != nil {
			out.Bytes += min(n.Load(), w.size)
		}
	}
	return out
}

// report tells tell ten times a second what changed, until the returned
// function is called; on success that tells the end.
func (p *progress) report(update func(Progress)) (stop func(whole bool)) {
	if update == nil {
		return func(bool) {}
	}
	update(p.now())
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		var last Progress
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				if now := p.now(); now != last {
					last = now
					update(now)
				}
			}
		}
	}()
	return func(whole bool) {
		close(quit)
		<-ended
		if whole {
			update(p.now())
		}
	}
}

// String is for logs: 3/10 layers, 5/12 MiB.
func (p Progress) String() string {
	return fmt.Sprintf("%d/%d layers, %d/%d MiB", p.LayersDone, p.Layers, p.Bytes>>20, p.Total>>20)
}
