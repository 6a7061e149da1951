// Package ocitest is a registry on loopback for tests, with and without
// authentication and with faults on demand, and makers of images, honest and
// hostile ones.
package ocitest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry is a running one. Unlike the one that it wraps it keeps blobs by
// repository, as real ones do: what another repository has must be mounted.
type Registry struct {
	Host string // 127.0.0.1 and its port
	// User and Password open it; empty: it is open to all.
	User, Password string

	server *httptest.Server
	inner  http.Handler
	bearer bool
	closed chan struct{}

	mu     sync.Mutex
	log    []*Request
	faults []*Fault
	blobs  map[string]bool // repository@digest
	tokens map[string]bool
	denied map[string]bool // repositories that nobody may touch
}

// Request is one that came to the registry.
type Request struct {
	Method, Path, Query, Range string
	Status                     int
	Bytes                      int64 // of the answer's body
	Received                   int64 // of the request's body
	User                       string
}

// Option changes a registry before it starts.
type Option func(*Registry)

// Basic asks for user and password with every request.
func Basic(user, password string) Option {
	return func(r *Registry) { r.User, r.Password = user, password }
}

// Bearer asks for tokens, which user and password buy at /token.
func Bearer(user, password string) Option {
	return func(r *Registry) { r.User, r.Password, r.bearer = user, password, true }
}

// OnDisk keeps the blobs in a directory instead of memory.
func OnDisk(dir string) Option {
	return func(r *Registry) {
		r.inner = registry.New(registry.Logger(silent()), registry.WithBlobHandler(disk(dir)))
	}
}

func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// New starts a registry that ends with the test.
func New(t testing.TB, options ...Option) *Registry {
	t.Helper()
	r := Start(options...)
	t.Cleanup(r.Close)
	return r
}

// Start starts a registry for callers without a test; Close ends it.
func Start(options ...Option) *Registry {
	r := &Registry{
		inner:  registry.New(registry.Logger(silent())),
		closed: make(chan struct{}), blobs: map[string]bool{}, tokens: map[string]bool{}, denied: map[string]bool{},
	}
	for _, o := range options {
		o(r)
	}
	r.server = httptest.NewUnstartedServer(r)
	r.server.Config.ErrorLog = silent()
	r.server.Start()
	r.Host = r.server.Listener.Addr().String()
	return r
}

// Close stops it at once, hung requests included. Closing twice is closing once.
func (r *Registry) Close() {
	r.mu.Lock()
	select {
	case <-r.closed:
		r.mu.Unlock()
		return
	default:
		close(r.closed)
	}
	r.mu.Unlock()
	r.server.CloseClientConnections()
	r.server.Close()
}

// Ref is the full name of a repository with tag or digest.
func (r *Registry) Ref(rest string) string { return r.Host + "/" + rest }

// Deny lets nobody into a repository (403), whatever the credential.
func (r *Registry) Deny(repo string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied[repo] = true
}

// Requests returns what has come so far, in order; what is not answered yet has
// no status.
func (r *Registry) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Request, len(r.log))
	for i, q := range r.log {
		out[i] = *q
	}
	return out
}

// Forget empties the log of requests.
func (r *Registry) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = nil
}

// Count counts requests by method and a part of the path.
func (r *Registry) Count(method, part string) (n int) {
	for _, q := range r.Requests() {
		if q.Method == method && strings.Contains(q.Path, part) {
			n++
		}
	}
	return n
}

// Push stores an image under a tag, with the registry's own credential, and
// returns its digest.
func (r *Registry) Push(t testing.TB, rest string, img v1.Image) v1.Hash {
	t.Helper()
	if err := remote.Write(r.parse(t, rest), img, r.auth()); err != nil {
		t.Fatalf("push %s: %v", rest, err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// PushIndex stores an image of several platforms.
func (r *Registry) PushIndex(t testing.TB, rest string, index v1.ImageIndex) {
	t.Helper()
	if err := remote.WriteIndex(r.parse(t, rest), index, r.auth()); err != nil {
		t.Fatalf("push %s: %v", rest, err)
	}
}

// Image reads an image back.
func (r *Registry) Image(t testing.TB, rest string) v1.Image {
	t.Helper()
	img, err := remote.Image(r.parse(t, rest), r.auth())
	if err != nil {
		t.Fatalf("read %s: %v", rest, err)
	}
	return img
}

func (r *Registry) auth() remote.Option {
	if r.User == "" {
		return remote.WithAuth(authn.Anonymous)
	}
	return remote.WithAuth(&authn.Basic{Username: r.User, Password: r.Password})
}

func (r *Registry) parse(t testing.TB, rest string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(r.Ref(rest), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// ServeHTTP implements http.Handler.
func (r *Registry) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body := &countingBody{ReadCloser: q.Body}
	q.Body = body
	user, _, _ := q.BasicAuth()
	answer := &faulty{ResponseWriter: w, request: q, registry: r, status: http.StatusOK}
	entry := &Request{Method: q.Method, Path: q.URL.Path, Query: q.URL.RawQuery, Range: q.Header.Get("Range"), User: user}
	r.mu.Lock()
	r.log = append(r.log, entry)
	r.mu.Unlock()
	defer func() { // also when a fault cuts the connection by a panic
		r.mu.Lock()
		defer r.mu.Unlock()
		entry.Status, entry.Bytes, entry.Received = answer.status, answer.sent, body.n
	}()
	answer.fault = r.faultFor(q)
	if f := answer.fault; f != nil {
		switch f.Do {
		case Refuse:
			refuse(answer, f.Status, "UNAVAILABLE", "told to fail")
			return
		case NoRange:
			q.Header.Del("Range")
		}
	}
	if q.URL.Path == "/token" {
		r.token(answer, q)
		return
	}
	if r.authorized(answer, q) {
		r.serve(answer, q)
	}
}

var blobPath = regexp.MustCompile(`^/v2/(.+)/blobs/(sha256:[0-9a-f]+)$`)
var uploadPath = regexp.MustCompile(`^/v2/(.+)/blobs/uploads/`)
var repoPath = regexp.MustCompile(`^/v2/(.+)/(?:blobs|manifests|tags|referrers)/`)

// serve gives every repository blobs of its own.
func (r *Registry) serve(w *faulty, q *http.Request) {
	query := q.URL.Query()
	if m := blobPath.FindStringSubmatch(q.URL.Path); m != nil && !r.hasBlob(m[1], m[2]) {
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN", "no such blob here")
		return
	}
	upload := uploadPath.FindStringSubmatch(q.URL.Path)
	if upload != nil && q.Method == http.MethodPost && r.hasBlob(query.Get("from"), query.Get("mount")) {
		r.addBlob(upload[1], query.Get("mount"))
		w.Header().Set("Location", "/v2/"+upload[1]+"/blobs/"+query.Get("mount"))
		w.WriteHeader(http.StatusCreated)
		return
	}
	r.inner.ServeHTTP(w, q)
	if upload != nil && q.Method == http.MethodPut && w.status == http.StatusCreated {
		r.addBlob(upload[1], query.Get("digest"))
	}
}

func (r *Registry) hasBlob(repo, digest string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blobs[repo+"@"+digest]
}

func (r *Registry) addBlob(repo, digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[repo+"@"+digest] = true
}

func (r *Registry) authorized(w http.ResponseWriter, q *http.Request) bool {
	if m := repoPath.FindStringSubmatch(q.URL.Path); m != nil {
		r.mu.Lock()
		no := r.denied[m[1]]
		r.mu.Unlock()
		if no {
			refuse(w, http.StatusForbidden, "DENIED", "requested access to the resource is denied")
			return false
		}
	}
	switch {
	case r.User == "":
		return true
	case r.bearer:
		r.mu.Lock()
		ok := r.tokens[strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer ")]
		r.mu.Unlock()
		if ok {
			return true
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm="http://%s/token",service="test"`, r.Host))
	default:
		if user, password, _ := q.BasicAuth(); user == r.User && password == r.Password {
			return true
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
	}
	refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
	return false
}

func (r *Registry) token(w http.ResponseWriter, q *http.Request) {
	user, password, ok := q.BasicAuth()
	token := rand.Text()
	switch {
	case ok && (user != r.User || password != r.Password):
		refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "incorrect username or password")
		return
	case ok:
		r.mu.Lock()
		r.tokens[token] = true
		r.mu.Unlock()
	}
	// Who does not say who it is gets a token too; it opens nothing.
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": 300})
}

// ExpireTokens makes every token that was given out invalid.
func (r *Registry) ExpireTokens() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.tokens)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"errors": []any{map[string]string{"code": code, "message": message}}})
}

type countingBody struct {
	io.ReadCloser
	n int64
}

func (c *countingBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	return n, err
}
