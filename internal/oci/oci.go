// Package oci keeps container images without a daemon: it pulls them from
// registries into a cache of unpacked layers, makes new images from a base and
// directories, and publishes directories as artifacts.
//
// It decides what a name means, which credential goes to which server, what a
// failure is called, which layer is evicted, and that nothing an image says
// touches a file outside its own layer. It does not run anything, mounts
// nothing and knows no workloads: a caller stacks Image.Layers with overlayfs
// and holds the image for as long as it uses it.
//
// Everything on disk is content-addressed and appears by rename, so that a
// crash at any line leaves nothing that is taken for whole. The layout of
// Options.Dir:
//
//	lock               who uses the directory (flock)
//	layers/HEX/        the tree of a layer, named by its diff ID
//	meta/HEX.json      its size; the modification time is the last use
//	images/HEX.json    what a name stood for when it was pulled last
//	holds/HEX.json     who needs which layers
//	downloads/X.part   compressed bytes of a layer that is not whole yet
//	tmp/               trees in the making; emptied by Open
package oci

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Options say where images are kept and how registries are spoken to.
type Options struct {
	// Dir holds the cache. It is made with mode 0700: layers contain set-user-id
	// programs that other users of the machine must not reach.
	Dir string
	// MaxBytes is how much the cache may hold, in bytes; 0: no limit. Layers that
	// are held or being pulled stay, even above it.
	MaxBytes int64
	// PlainHTTP says which hosts (with the port, as in the image's name) may be
	// spoken to without TLS; nil: only loopback addresses.
	PlainHTTP func(host string) bool
	// Platform is os/arch[/variant] of the images wanted; "": this machine's.
	Platform string
	// IdleTimeout is after how much silence a connection is given up; 0: 30 s.
	IdleTimeout time.Duration
	// Transport carries the requests; nil: one that honours HTTP_PROXY.
	Transport http.RoundTripper
	// Carry takes requests as the given transport would, and refuses where names of
	// images, and what registries answer, must not lead; nil: that transport alone.
	Carry func(base *http.Transport, within time.Duration) http.RoundTripper
	// Now is the clock behind "least recently used"; nil: time.Now.
	Now func() time.Time
	// Log hears what is worth knowing and no error; nil: nobody.
	Log *slog.Logger
}

// Store is a cache of images and the way to registries. Its methods may be
// called at the same time.
type Store struct {
	*Client
	opt      Options
	platform v1.Platform
	unlock   func()
	slots    chan struct{} // layers in the making at the same time
	cannot   error         // why layers cannot be unpacked here; nil: they can

	mu     sync.Mutex
	layers map[string]*layer // by diff ID
	images map[string]*record
	holds  map[string]*hold
	pins   map[string]int // diff IDs that a running pull needs
	jobs   map[string]*job
	parts  map[string]bool // downloads in use
	syncer syncer
}

// Open takes the directory for this process and clears away what a former one
// left half done. It fails when another process has it.
func Open(o Options) (*Store, error) {
	if o.Dir == "" {
		return nil, fmt.Errorf("open the image cache: the directory is empty; name one, e.g. images below the data directory")
	}
	if o.MaxBytes < 0 {
		return nil, fmt.Errorf("open the image cache: a limit of %d bytes is negative; 0 means no limit", o.MaxBytes)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the image cache: %w", err)
	}
	o.Dir = dir
	fill(&o)
	platform, err := v1.ParsePlatform(o.Platform)
	if err != nil || platform.OS == "" || platform.Architecture == "" {
		return nil, fmt.Errorf("open the image cache: platform %q is not os/arch or os/arch/variant, e.g. linux/amd64", o.Platform)
	}
	s := &Store{
		Client: NewClient(o), opt: o, platform: *platform,
		slots:  make(chan struct{}, min(max(3, runtime.NumCPU()), 8)),
		layers: map[string]*layer{}, images: map[string]*record{}, holds: map[string]*hold{},
		pins: map[string]int{}, jobs: map[string]*job{}, parts: map[string]bool{},
	}
	if err := s.takeDir(); err != nil {
		return nil, fmt.Errorf("open the image cache %s: %w", dir, err)
	}
	return s, nil
}

// Client speaks to registries without keeping anything; a Store is one too.
type Client struct{ wire *wire }

// NewClient makes one; of the options Dir, MaxBytes, Platform and Now do not matter.
func NewClient(o Options) *Client {
	fill(&o)
	return &Client{wire: newWire(o.Transport, o.Carry, o.IdleTimeout, o.PlainHTTP)}
}

func fill(o *Options) {
	if o.PlainHTTP == nil {
		o.PlainHTTP = Loopback
	}
	if o.Platform == "" {
		o.Platform = "linux/" + runtime.GOARCH
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// Loopback reports whether a registry, or the registry of an image's name, is
// this machine, where TLS protects nothing.
func Loopback(name string) bool {
	host, _, _ := strings.Cut(name, "/")
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (s *Store) takeDir() error {
	for _, d := range []string{"", "layers", "meta", "images", "holds", "downloads", "tmp"} {
		if err := os.MkdirAll(s.path(d), 0o700); err != nil {
			return err
		}
	}
	unlock, err := lockFile(s.path("lock"))
	if err != nil {
		return err
	}
	s.unlock = unlock
	if err := s.recover(); err != nil {
		unlock()
		return err
	}
	s.cannot = probeUnpack(s.path("tmp"))
	return nil
}

// Close waits for what is being written out and gives the directory back. Pulls
// must have ended.
func (s *Store) Close() error {
	s.syncer.wait()
	s.unlock()
	return nil
}

// CanPull says why layers cannot be unpacked by this process (not root, not
// Linux, a file system without overlay attributes): an *Error of Kind
// NeedsRoot, or nil. Build, PushArtifact and PullArtifact work regardless.
func (s *Store) CanPull() error { return s.cannot }

// Dir is where the cache is.
func (s *Store) Dir() string { return s.opt.Dir }

func (s *Store) path(elem ...string) string {
	return filepath.Join(append([]string{s.opt.Dir}, elem...)...)
}

func (s *Store) layerDir(diffID string) string { return s.path("layers", hexOf(diffID)) }
