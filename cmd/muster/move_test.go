package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/handover"
	"github.com/musterhq/muster/internal/store/sqlstore"
	"github.com/musterhq/muster/internal/testing/kubetest"
)

// other is a server that records are moved to, as one finds it.
type other struct {
	status api.ServerStatus
	take   http.HandlerFunc
}

func (o *other) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut {
		o.take(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(o.status)
}

// mover is a data directory, and a way to move it to o.
func mover(t *testing.T, o *other) (dir string, options cli.MoveOptions) {
	t.Helper()
	dir = t.TempDir()
	st, err := sqlstore.Open(t.Context(), filepath.Join(dir, handover.Database))
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	at := "http://127.0.0.1:1" // nobody listens
	if o != nil {
		s := httptest.NewServer(o)
		t.Cleanup(s.Close)
		at = s.URL
	}
	to, err := client.New(client.Options{Address: at, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return dir, cli.MoveOptions{DataDir: dir, To: to}
}

func refusedWith(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}

func newestFormat(t *testing.T) int {
	t.Helper()
	n, err := sqlstore.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestAMoveThatBreaksOffShutsBothWays: while nobody knows whether the records arrived, no
// server starts on them; the same again finishes it.
func TestAMoveThatBreaksOffShutsBothWays(t *testing.T) {
	t.Parallel()
	o := &other{status: api.ServerStatus{AwaitsMove: true, Format: newestFormat(t)}}
	o.take = func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		panic(http.ErrAbortHandler) // it has everything, and its answer is lost
	}
	dir, options := mover(t, o)
	r, err := move(t.Context(), options)
	refusedWith(t, err, "nobody knows whether the records arrived")
	refusedWith(t, refuseMoved(dir), "is being moved to http://")
	_, err = move(t.Context(), cli.MoveOptions{DataDir: dir, To: elsewhere(t)})
	refusedWith(t, err, "and may have arrived")
	back := options
	back.TakeBack = true
	o.status = api.ServerStatus{Format: newestFormat(t), Installation: r.Installation, Moved: &api.Moved{ID: r.ID}}
	_, err = move(t.Context(), back)
	refusedWith(t, err, "has the records, and works on")
	if r, err = move(t.Context(), options); err != nil || !r.Moved {
		t.Errorf("said again: %+v, %v", r, err)
	}
	refusedWith(t, refuseMoved(dir), "was moved to http://")
	_, err = move(t.Context(), cli.MoveOptions{DataDir: dir, To: elsewhere(t)})
	refusedWith(t, err, "the records of "+dir+" were moved to")
	// Its server is gone for good.
	back.To = elsewhere(t)
	_, err = move(t.Context(), back)
	refusedWith(t, err, "cannot be asked")
	back.Sure = true
	if _, err := move(t.Context(), back); err != nil || refuseMoved(dir) != nil {
		t.Errorf("taken back: %v, %v", err, refuseMoved(dir))
	}
}

func elsewhere(t *testing.T) *client.Client {
	t.Helper()
	_, o := mover(t, nil)
	return o.To
}

// TestWhatIsRefusedLeavesTheRecordsHere: whatever the other server says for certain, this
// machine's goes on.
func TestWhatIsRefusedLeavesTheRecordsHere(t *testing.T) {
	t.Parallel()
	format := newestFormat(t)
	for want, o := range map[string]*other{
		"has records of its own, and nothing is merged": {status: api.ServerStatus{Installation: "theirs", Format: format, Version: "v9"}},
		"is older":                          {status: api.ServerStatus{AwaitsMove: true, Format: format - 1}},
		"no room":                           {status: api.ServerStatus{AwaitsMove: true, Format: format}},
		"since then they have changed here": {status: api.ServerStatus{Format: format, Moved: &api.Moved{ID: "as it was"}}},
		"does not answer":                   nil,
		"there is nothing to move":          {},
	} {
		if o != nil {
			o.take = func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				reply(w, http.StatusConflict, problemOf(http.StatusConflict, "conflict", "no room", "make some"))
			}
		}
		dir, options := mover(t, o)
		if o != nil && o.status.Moved != nil {
			r, err := recorded(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			o.status.Installation = r.Installation
		}
		if want == "there is nothing to move" {
			if err := os.Remove(filepath.Join(dir, handover.Database)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := move(t.Context(), options)
		refusedWith(t, err, want)
		if err := refuseMoved(dir); err != nil {
			t.Errorf("%s: this machine's server does not go on: %v", want, err)
		}
	}
}

// TestAMoveBringsNoDatabaseForward: what is not known to arrive is left as its own
// program can read it.
func TestAMoveBringsNoDatabaseForward(t *testing.T) {
	t.Parallel()
	dir, options := mover(t, nil)
	path := filepath.Join(dir, handover.Database)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[63]-- // the last byte of the format, in the head of a database of SQLite
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = move(t.Context(), options)
	refusedWith(t, err, "has the format")
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the database was changed: %v", err)
	}
}

// TestAServerKilledWhileItTakesBeginsAnew: half of a move is none, whichever side ends,
// and whoever has no token brings nothing.
func TestAServerKilledWhileItTakesBeginsAnew(t *testing.T) {
	t.Parallel()
	one := newWorld(t)
	one.muster("run", "--name", "over", "--cpu", "100m", "--wait", "--", "echo", "a line of the log")
	one.muster("server", "stop")
	id, err := handover.Identify(one.data)
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	if err := handover.Pack(&stream, one.data, handover.Manifest{Format: newestFormat(t), ID: id}); err != nil {
		t.Fatal(err)
	}
	two, to := newcomer(t)
	put := func(token string, body io.Reader) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, to[1]+"/v1/server/move", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		return http.DefaultClient.Do(req)
	}
	status := func(token string, body io.Reader, want int) {
		t.Helper()
		resp, err := put(token, body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("it answers %s, want %d", resp.Status, want)
		}
	}
	token, err := os.ReadFile(to[3])
	if err != nil {
		t.Fatal(err)
	}
	status("somebody", bytes.NewReader(stream.Bytes()), http.StatusUnauthorized)
	status(string(token), bytes.NewReader(stream.Bytes()[:stream.Len()/2]), http.StatusBadRequest)

	// Half of it has come, and it is killed; so is what it had of it.
	out, in := io.Pipe()
	gone := make(chan error, 1)
	go func() {
		resp, err := put(string(token), out)
		if err == nil {
			resp.Body.Close()
		}
		gone <- err
	}()
	if _, err := in.Write(stream.Bytes()[:stream.Len()/2]); err != nil {
		t.Fatal(err)
	}
	stage := filepath.Join(two.data, "moving-in")
	kubetest.Eventually(t, "something of it lies there", func() error { _, err := os.Stat(stage); return err })
	status(string(token), bytes.NewReader(stream.Bytes()), http.StatusConflict) // one at a time
	two.kill()
	_ = in.CloseWithError(io.ErrUnexpectedEOF)
	if err := <-gone; err == nil {
		t.Error("whoever sent it was told that it arrived")
	}
	if empty, err := handover.Empty(two.data); err != nil || !empty {
		t.Fatalf("half of it is taken for all: %v", err)
	}
	two.start()
	kubetest.Eventually(t, "it awaits it again", func() error { _, err := one.try(append([]string{"server", "move", "--dry-run"}, to...)...); return err })
	one.muster(append([]string{"server", "move"}, to...)...)
	two.answers()
	if got := two.muster("logs", "over"); got != "a line of the log\n" {
		t.Errorf("its log is %q", got)
	}
	if _, err := os.Stat(stage); err == nil {
		t.Error("what came lies there twice")
	}
}
