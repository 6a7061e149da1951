package server_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server"
	"github.com/musterhq/muster/internal/server/access"
	"github.com/musterhq/muster/internal/sharelink"
	"github.com/musterhq/muster/internal/store"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

const patience = time.Minute

// world is a real control plane over a fake backend, served on a real socket.
type world struct {
	t       *testing.T
	server  *server.Server
	backend *fakebackend.Backend
	http    *http.Client
	tcp     string
	ahead   atomic.Int64 // of the machine's clock the server's is, in nanoseconds
	// reviewed counts what its cluster was asked, which answers unless it is silent.
	reviewed atomic.Int64
	silent   atomic.Bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, fakebackend.Node("node-1", 4000, 8<<30, 2, "Fake A100"))
}

func newWorldOf(t *testing.T, nodes ...core.Node) *world {
	t.Helper()
	return newWorldWith(t, nil, nodes...)
}

// newWorldWith is newWorldOf with a provider by which people sign in.
func newWorldWith(t *testing.T, sso *access.SSO, nodes ...core.Node) *world {
	t.Helper()
	return newWorldOver(t, memstore.New(), sso, nodes...)
}

// sealer keeps values that nobody asks for.
type sealer struct{}

func (sealer) Seal(user, name, typ string, fields map[string]string, _ map[string][]byte) (core.Secret, error) {
	return core.Secret{User: user, Name: name, Type: typ, Fields: fields, Sealed: []byte("sealed")}, nil
}

// newWorldOver is newWorldWith over a store.
func newWorldOver(t *testing.T, st store.Store, sso *access.SSO, nodes ...core.Node) *world {
	t.Helper()
	return newWorldSet(t, st, func(c *server.Config) { c.SSO = sso }, nodes...)
}

// newWorldSet is newWorldOver with whatever else a server is told.
func newWorldSet(t *testing.T, st store.Store, set func(*server.Config), nodes ...core.Node) *world {
	t.Helper()
	w := &world{t: t, backend: fakebackend.New("fake", time.Now, nodes)}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	ctl := controltest.Begin(t, control.Options{Deps: draft.Deps{Store: st, Log: log, Images: true}, SampleEvery: 50 * time.Millisecond}, w.backend)
	links, err := sharelink.Open("")
	if err != nil {
		t.Fatal(err)
	}
	c := server.Config{
		Control: ctl, Sealer: sealer{}, Clock: func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }, Log: log, Token: "secret", MAC: mac, Shares: links, Cluster: w.reviews,
		Version: api.Version{Version: "test", Go: "go", API: "v1"}, Status: api.ServerStatus{PID: 1, DataDir: "d"},
	}
	set(&c)
	w.server = server.New(c)
	socket := filepath.Join(t.TempDir(), "s")
	unix, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.tcp = "http://" + tcp.Addr().String()
	hs := w.server.Listener()
	go hs.Serve(unix) //nolint:errcheck // it ends with the test
	go hs.Serve(tcp)  //nolint:errcheck // it ends with the test
	t.Cleanup(func() {
		w.server.Close()
		hs.Close()
	})
	w.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	return w
}

// mac stands for the server's key.
func mac(purpose string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte("key"+purpose))) }

// call sends one request and decodes the answer into out, whatever its status.
func (w *world) call(method, path, body string, out any, header ...string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequest(method, "http://muster"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	switch out := out.(type) {
	case nil:
	case *string:
		*out = string(text)
	default:
		if err := json.Unmarshal(text, out); err != nil {
			w.t.Fatalf("%s %s answered %s: %v", method, path, text, err)
		}
	}
	return resp
}

func (w *world) submit(doc string) api.Workload {
	w.t.Helper()
	var out api.Workload
	if resp := w.call("POST", "/v1/projects/-/workloads", doc, &out); resp.StatusCode != http.StatusCreated {
		w.t.Fatalf("%s was answered with %s", doc, resp.Status)
	}
	return out
}

func (w *world) await(name, phase string) api.Workload {
	w.t.Helper()
	var out api.Workload
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		out = api.Workload{}
		w.call("GET", "/v1/projects/default/workloads/"+name, "", &out)
		if out.Phase == phase {
			return out
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s is %s (%s), want %s", name, out.Phase, out.Message, phase)
		}
	}
}

// refused expects a problem.
func (w *world) refused(method, path, body string, status int, code string, header ...string) api.Problem {
	w.t.Helper()
	var p api.Problem
	resp := w.call(method, path, body, &p, header...)
	if resp.StatusCode != status || p.Code != code || p.Status != status {
		w.t.Errorf("%s %s: %d %s %q, want %d %s", method, path, resp.StatusCode, p.Code, p.Detail, status, code)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/problem+json" {
		w.t.Errorf("%s %s: a problem came as %q", method, path, ct)
	}
	if p.Detail == "" || p.Hint == "" {
		w.t.Errorf("%s %s: the problem does not say what and what next: %+v", method, path, p)
	}
	return p
}
