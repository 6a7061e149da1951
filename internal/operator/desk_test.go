package operator

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/client"
	"github.com/musterhq/muster/internal/core"
)

// desk is a session that nobody drives, between a server and a cluster that
// answer as a test says.
type desk struct {
	*session
	t       *testing.T
	told    *record.FakeRecorder
	there   map[string]map[string]any // objects of the cluster, by name
	refusal *api.Problem              // of submissions; nil: they are taken
	submits int
	deleted []string // names, of objects
}

type oneSpace struct{}

func (oneSpace) Namespace(context.Context, core.ProjectID) (string, error) { return "ns", nil }

func (oneSpace) Project(context.Context, string) (core.ProjectID, bool, error) {
	return "default", true, nil
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, told: record.NewFakeRecorder(100), there: map[string]map[string]any{}}
	cluster, server := httptest.NewServer(http.HandlerFunc(d.cluster)), httptest.NewServer(http.HandlerFunc(d.server))
	t.Cleanup(cluster.Close)
	t.Cleanup(server.Close)
	conn, err := client.New(client.Options{Address: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Config{Cluster: &rest.Config{Host: cluster.URL}, Spaces: oneSpace{}, Muster: conn, Keep: time.Hour, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	d.session = newSession(f, "definition")
	d.session.events = d.told
	d.session.objects = cache.NewIndexer(func(in any) (string, error) { return in.(*shadow).key(), nil }, indexers)
	t.Cleanup(d.queue.ShutDown)
	return d
}

// put is an object in the cluster, of which the cache knows.
func (d *desk) put(name string, made bool, st status) *shadow {
	d.t.Helper()
	meta := map[string]any{"name": name, "namespace": "ns", "uid": "uid-" + name, "generation": 1, "creationTimestamp": "2026-05-01T10:00:00Z"}
	if made {
		meta["annotations"] = map[string]any{noteID: st.ID}
		meta["managedFields"] = []any{map[string]any{"manager": manager}}
	}
	d.there[name] = header(meta)
	d.there[name]["spec"], d.there[name]["status"] = map[string]any{"command": "true"}, st
	return d.cached(name)
}

// cached has the cache know an object as it is.
func (d *desk) cached(name string) *shadow {
	d.t.Helper()
	u, err := unstructuredOf(d.there[name])
	if err != nil {
		d.t.Fatal(err)
	}
	o := shadowOf(u)
	if err := d.session.objects.Update(o); err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *desk) cluster(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // apis/GROUP/VERSION/namespaces/NS/workloads/NAME[/status]
	w.Header().Set("Content-Type", "application/json")
	if len(parts) < 7 || d.there[parts[6]] == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`))
		return
	}
	o := d.there[parts[6]]
	switch r.Method {
	case http.MethodPatch:
		var in unstructured.Unstructured
		if err := json.NewDecoder(r.Body).Decode(&in.Object); err != nil {
			d.t.Error(err)
		}
		o["status"] = in.Object["status"]
	case http.MethodDelete:
		d.deleted = append(d.deleted, parts[6])
	}
	_ = json.NewEncoder(w).Encode(o)
}

func (d *desk) server(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodPost {
		d.t.Errorf("the server is asked for %s %s", r.Method, r.URL)
		return
	}
	d.submits++
	if d.refusal != nil {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(d.refusal.Status)
		_ = json.NewEncoder(w).Encode(d.refusal)
		return
	}
	_ = json.NewEncoder(w).Encode(at("Queued", 0))
}

func (d *desk) regard(o *shadow) {
	d.t.Helper()
	if err := d.session.regard(context.Background(), o.key()); err != nil {
		d.t.Fatal(err)
	}
}

// What an object refers to may come after it, as a secret does.
func TestWhatWasRefusedIsTriedAgainAfterAWhile(t *testing.T) {
	d := newDesk(t)
	d.refusal = &api.Problem{Status: 422, Code: "invalid", Detail: `secret "key" does not exist`}
	o := d.put("train", false, status{})
	d.regard(o)
	o = d.cached("train")
	if d.submits != 1 || o.status.invalid() != reasonRefused {
		t.Fatalf("after %d submissions its status is %+v", d.submits, o.status)
	}
	d.refusal = nil
	d.regard(o) // the cluster tells of what was written
	if d.submits != 1 {
		t.Error("it was submitted again at once")
	}
	d.refusal = &api.Problem{Status: 422, Code: "invalid", Detail: `secret "key" does not exist`}
	pass := func() {
		was := d.tried[o.UID]
		was.at = was.at.Add(-was.rest)
		d.tried[o.UID] = was
	}
	for _, want := range []time.Duration{2 * again, 4 * again} {
		if pass(); d.submits > 3 {
			t.Fatal("it is submitted too often")
		}
		d.regard(o)
		if o = d.cached("train"); d.tried[o.UID].rest != want {
			t.Errorf("it rests for %v, want %v", d.tried[o.UID].rest, want)
		}
	}
	d.refusal = nil
	pass()
	d.regard(o)
	if o = d.cached("train"); d.submits != 4 || o.status.ID != "1" || o.status.invalid() != "" {
		t.Errorf("after a while, and %d submissions, its status is %+v", d.submits, o.status)
	}
	if n := len(d.told.Events); n != 1 {
		t.Errorf("%d Events tell that it was refused", n)
	}
}

func TestStepsThatCannotBeWrittenAreNotKeptWithoutEnd(t *testing.T) {
	d := newDesk(t)
	for i := range 1000 {
		d.enqueue(&api.Workload{ID: "1", Revision: int64(i), Transitions: []api.Transition{{Seq: int64(i)}}})
		if i%100 == 0 {
			d.giveBack("1", d.dequeue("1"))
		}
	}
	steps := d.dequeue("1").steps
	if len(steps) != most || steps[most-1].Seq != 999 || cap(steps) > 4*most {
		t.Errorf("%d steps are kept, in a list for %d: %+v", len(steps), cap(steps), steps)
	}
}

func TestObjectsOfWhatHasEndedLongAgoGo(t *testing.T) {
	d := newDesk(t)
	ended := func(ago time.Duration) status {
		return status{ID: "1", Phase: "Completed", EndedAt: time.Now().Add(-ago).UTC().Format(time.RFC3339)}
	}
	d.put("long", true, ended(2*time.Hour))
	d.put("lately", true, ended(time.Minute))
	d.put("running", true, status{ID: "2", Phase: "Running"})
	d.put("applied", false, ended(2*time.Hour))
	if err := d.tidy(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.deleted, []string{"long"}) || !d.ours["uid-long"] {
		t.Errorf("deleted are %q, by us %v", d.deleted, d.ours)
	}
}

// What was written is remembered until the cache knows it; from then on the
// object says what it says, whoever wrote it.
func TestWhatOthersWriteIntoAStatusIsSeen(t *testing.T) {
	d := newDesk(t)
	o := d.put("train", false, status{})
	w := at("Running", 5)
	if err := d.write(context.Background(), o, judged(statusOf(status{}, w), 1, "", "", begin)); err != nil {
		t.Fatal(err)
	}
	d.regard(o) // of the object as it was before
	if _, kept := d.done[o.UID]; !kept {
		t.Error("what the cache does not know yet was forgotten")
	}
	d.regard(d.cached("train"))
	if _, kept := d.done[o.UID]; kept || d.submits > 0 {
		t.Errorf("once the cache knows, it is still kept: %v; submitted %d times", kept, d.submits)
	}
	if o = d.cached("train"); d.differs(o, w) {
		t.Error("what we wrote ourselves is taken for wrong")
	}
	other := o.status
	other.Phase = "Completed"
	d.there["train"]["status"] = other
	if o = d.cached("train"); !d.differs(o, w) {
		t.Error("what others wrote stays")
	}
}

// An object that a finalizer keeps is not another of its name.
func TestADeletedObjectIsNotItsSuccessor(t *testing.T) {
	d := newDesk(t)
	o := d.put("train", false, status{})
	d.gone["uid-former"] = &shadow{}
	d.gone["uid-former"].UID, d.gone["uid-former"].Name, d.gone["uid-former"].Namespace = "uid-former", o.Name, o.Namespace
	now := o.CreationTimestamp
	d.gone["uid-former"].DeletionTimestamp = &now
	if err := d.miss(context.Background(), "uid-former"); err != nil {
		t.Fatal(err)
	}
	if len(d.gone) > 0 {
		t.Errorf("kept are %v", d.gone)
	}
}
