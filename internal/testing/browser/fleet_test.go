package browser_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/control"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/engine/draft"
	"github.com/musterhq/muster/internal/server"
	"github.com/musterhq/muster/internal/sharelink"
	"github.com/musterhq/muster/internal/testing/browser"
	"github.com/musterhq/muster/internal/testing/controltest"
	"github.com/musterhq/muster/internal/testing/fakebackend"
	"github.com/musterhq/muster/internal/testing/memstore"
)

const fleetToken = "the token of a fleet, long enough"

// fleet is a real server over a backend with as many nodes as a test wants.
type fleet struct {
	b       *browser.Browser
	t       testing.TB
	url     string
	backend *fakebackend.Backend
}

func newFleet(t testing.TB, nodes ...core.Node) *fleet {
	t.Helper()
	return newFleetLooked(t, 200*time.Millisecond, nodes...)
}

// newFleetLooked is newFleet where what is used is looked at now and then.
func newFleetLooked(t testing.TB, every time.Duration, nodes ...core.Node) *fleet {
	t.Helper()
	b := one.of(t, browser.Start)
	f := &fleet{t: t, b: b, backend: fakebackend.New("fake", time.Now, nodes)}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	ctl := controltest.Begin(t, control.Options{Deps: draft.Deps{Store: memstore.New(), Log: log}, SampleEvery: every}, f.backend)
	links, err := sharelink.Open("")
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Config{
		Control: ctl, Clock: time.Now, Log: log, Token: fleetToken, MAC: func(purpose string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte("key"+purpose))) },
		Version: api.Version{Version: "test", Go: "go", API: "v1"}, Status: api.ServerStatus{PID: 1}, Shares: links,
	})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.url = "http://" + tcp.Addr().String()
	hs := s.Listener()
	go hs.Serve(tcp) //nolint:errcheck // it ends with the test
	t.Cleanup(func() {
		s.Close()
		hs.Close()
	})
	return f
}

// call sends a request and decodes the answer into out; nil: it is not looked at.
func (f *fleet) call(method, path string, body, out any) {
	f.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	req, err := http.NewRequest(method, f.url+path, bytes.NewReader(text))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+fleetToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		f.t.Fatalf("%s %s: %s %.500s", method, path, resp.Status, answer)
	}
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			f.t.Fatal(err)
		}
	}
}

// submit submits a document; phase is one that is waited for, if any.
func (f *fleet) submit(phase string, doc map[string]any) api.Workload {
	f.t.Helper()
	if doc["command"] == nil {
		doc["command"] = []string{"fake", "run=forever"}
	}
	var w api.Workload
	f.call("POST", "/v1/projects/-/workloads", doc, &w)
	for deadline := time.Now().Add(browser.Patience); phase != ""; time.Sleep(10 * time.Millisecond) {
		f.call("GET", "/v1/projects/"+w.Project+"/workloads/"+w.Name, nil, &w)
		if w.Phase == phase {
			break
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s is %s (%s), not %s", w.Name, w.Phase, w.Message, phase)
		}
	}
	return w
}

// busy says how busy the devices of a workload are from now on, beside what was
// said before.
func (f *fleet) busy(r *backend.Reading, w api.Workload, part float64) {
	for _, k := range w.Attempts[len(w.Attempts)-1].Tasks {
		for _, d := range k.Devices {
			r.Devices = append(r.Devices, backend.DeviceSample{Node: core.NodeID(k.Node), Device: d, Busy: part, MemoryUsed: part * 7e10, MemoryTotal: 8e10, Power: 90 + 500*part, Temperature: 34 + 40*part})
		}
	}
}

// enter opens a page that is logged in.
func (f *fleet) enter(width, height int) *page {
	f.t.Helper()
	p, err := f.b.NewPage(width, height)
	if err != nil {
		f.t.Fatal(err)
	}
	g := &page{Page: p, t: f.t, w: &world{url: f.url}}
	f.t.Cleanup(func() {
		for _, c := range p.Complaints() {
			f.t.Errorf("the page complains: %s", c)
		}
		p.Close()
	})
	g.must(g.Open(f.url + "/ui/login"))
	g.until(`document.activeElement.id === 'token'`)
	g.write(fleetToken)
	g.press("Enter")
	g.until(`location.pathname.endsWith('/ui/workloads')`)
	return g
}

// hall is two racks of four nodes with eight GPUs each.
func hall() []core.Node {
	var nodes []core.Node
	for i := range 8 {
		n := fakebackend.Node(core.NodeID(fmt.Sprintf("gpu-a%02d", i+1)), 96_000, 512<<30, 8, "NVIDIA H100 80GB")
		n.Labels = map[string]string{"rack": fmt.Sprintf("r%d", i/4+1), "gpu": "h100"}
		nodes = append(nodes, n)
	}
	return nodes
}

// twoIslands are the links of eight GPUs of which four and four have NVLinks, and the
// others see each other over the sockets.
func twoIslands() core.Links {
	square := make([][]core.Link, 8)
	for a := range square {
		for b := range 8 {
			link := core.LinkSockets
			if a/4 == b/4 {
				link = core.LinkNVLink4.Near()
			}
			square[a] = append(square[a], link)
		}
	}
	return core.NewLinks(square)
}

type doc = map[string]any

// work puts on the hall what a busy day does.
func (f *fleet) work() {
	f.t.Helper()
	for _, p := range []string{"vision", "language", "speech"} {
		f.call("POST", "/v1/projects", doc{"name": p}, nil)
	}
	var r backend.Reading
	f.busy(&r, f.submit("Running", doc{"name": "llm-pretrain", "project": "language", "kind": "distributed", "workers": 3, "resources": doc{"gpu": 8, "cpu": 8}, "maxDuration": "20h"}), 0.94)
	f.busy(&r, f.submit("Running", doc{"name": "diffusion-xl", "project": "vision", "resources": doc{"gpu": 6, "cpu": 8}, "maxDuration": "3h"}), 0.63)
	f.busy(&r, f.submit("Running", doc{"name": "whisper-tune", "project": "speech", "resources": doc{"gpu": 4, "cpu": 4}, "preemptible": false, "maxDuration": "45m"}), 0.31)
	f.busy(&r, f.submit("Running", doc{"name": "notebook-anna", "project": "vision", "kind": "workspace", "resources": doc{"gpu": 2, "cpu": 2}}), 0)
	f.submit("Running", doc{"name": "probe-small", "project": "speech", "resources": doc{"gpu": 0.5, "cpu": 1}, "maxDuration": "10m"})
	f.submit("Running", doc{"name": "probe-tiny", "project": "language", "resources": doc{"gpu": 0.25, "cpu": 1}, "maxDuration": "10m"})
	f.submit("Failed", doc{"name": "finetune-lora", "project": "language", "resources": doc{"gpu": 1, "cpu": 1}, "command": []string{"fake", "run=0s", "exit=1"}})
	f.submit("Queued", doc{"name": "sweep-large", "project": "vision", "kind": "distributed", "workers": 6, "resources": doc{"gpu": 8, "cpu": 8}})
	f.backend.Uses(r)
	f.call("POST", "/v1/nodes/gpu-a08/cordon", doc{"note": "fan to be changed"}, nil)
}
