package browser_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// blocks are two blocks of two racks of two nodes, with islands of NVLinks, and one node
// of MIG partitions.
func blocks() []core.Node {
	var nodes []core.Node
	for i := range 8 {
		n := fakebackend.Node(core.NodeID(fmt.Sprintf("gpu-b%d", i+1)), 96_000, 512<<30, 8, "NVIDIA H100 80GB")
		n.Labels = map[string]string{"block": fmt.Sprintf("b%d", i/4+1), "rack": fmt.Sprintf("r%d", i/2+1)}
		n.Links = twoIslands()
		nodes = append(nodes, n)
	}
	nodes = append(nodes, sliced())
	return nodes
}

// sliced is a node of two GPUs, cut into six partitions.
func sliced() core.Node {
	n := fakebackend.Node("gpu-mig", 64_000, 256<<30, 0, "")
	n.Labels = map[string]string{"block": "b2", "rack": "r4"}
	n.MIG, n.MIGStrategy = map[string]int{"3g.40gb": 2, "2g.20gb": 2, "1g.10gb": 2}, "mixed"
	n.Others.MIG = map[string]int{"1g.10gb": 1}
	return n
}

func newBlocks(t testing.TB) *fleet {
	f := newFleet(t, blocks()...)
	f.call("PATCH", "/v1/pools/default", doc{"topology": []string{"block", "rack"}}, nil)
	f.submit("Running", doc{"name": "slices", "resources": doc{"gpu": doc{"mig": "3g.40gb"}, "cpu": 1}, "maxDuration": "2h"})
	f.submit("Running", doc{"name": "whole", "resources": doc{"gpu": 8, "cpu": 1}, "maxDuration": "3h"})
	return f
}

var blockScreens = []screen{
	{name: "map-blocks", path: "map?by=time", ready: `document.querySelector('canvas')?.dataset.spots === '64' && document.querySelectorAll('.map-side li').length === 1`, then: func(g *page) {
		g.must(g.Eval(`document.querySelector('.board').focus()`, nil))
		g.press("ArrowDown", "ArrowRight", "ArrowRight")
		g.until(`document.querySelector('.board-card')?.innerText.includes('NVLink')`)
	}},
}

// TestScreensOfBlocks is TestScreens for a fleet with a topology.
func TestScreensOfBlocks(t *testing.T) { lookAt(t, newBlocks(t).enter, blockScreens) }

// Racks are below their block, on the line that connects them; what NVLinks connect has a
// line of its own, partitions are drawn to scale, and time to free is told by the node.
func TestTheMapShowsWhatIsConnected(t *testing.T) {
	f := newBlocks(t)
	g := f.enter(1280, 800)
	g.visit("map")
	// Two blocks: a line down to the first rack of each, and one to each rack. 16 islands.
	g.until(`(({ spots, wires, nvlinks, slices }) => [spots, wires, nvlinks, slices].join())(document.querySelector('canvas').dataset) === '64,6,16,6'`)
	g.until(`document.querySelector('.map-legend').innerText.replace(/\s+/g, ' ').includes('NVLink MIG partitions 2 of 6')`)
	g.must(g.Eval(`document.querySelector('.board').focus()`, nil))
	g.press("Home")
	g.until(`/NVLink to 1, 2, 3; between sockets to 4, 5, 6, 7/.test(document.querySelector('.board-card').innerText)`)
	g.visit("map?by=time")
	g.until(`document.querySelectorAll('.map-side li').length === 1`)
	g.must(g.Eval(`document.querySelector('.board').focus()`, nil))
	g.press("Home")
	var free string
	for range 8 { // the node that is held is one of eight
		g.must(g.Eval(`document.querySelector('.board-card').innerText`, &free))
		if strings.Contains(free, "Whole node free in") {
			break
		}
		g.press("ArrowDown")
	}
	if !strings.Contains(free, "Whole node free in 2h") {
		t.Errorf("of no node it says when it is free: %q", free)
	}
}

// One machine of partitions has them as large as the page lets them be.
func TestTheMapOfPartitions(t *testing.T) {
	f := newFleet(t, sliced())
	f.submit("Running", doc{"name": "slices", "resources": doc{"gpu": doc{"mig": "3g.40gb"}, "cpu": 1}})
	g := f.enter(1280, 800)
	g.visit("map")
	g.until(`[...document.querySelectorAll('.bench-mig > span')].map(s => [...s.children].map(i => i.innerText + (i.dataset.used ? '*' : '')).join('+')).join(' ') === '3g.40gb*+3g.40gb+1g.10gb* 2g.20gb+2g.20gb+1g.10gb'`)
	g.until(`(w => Math.abs(w[0] / w[2] - 3) < 0.2)([...document.querySelectorAll('.bench-mig > span:first-child i')].map(i => i.getBoundingClientRect().width))`)
	g.shows("do not report which GPU")
	// One that was held is so on the map of then, and free on that of now.
	f.call("POST", "/v1/projects/default/workloads/slices:stop", doc{}, nil)
	const first = `[...document.querySelector('.bench-mig > span').children].map(i => i.innerText + (i.dataset.used ? '*' : '')).join('+')`
	g.until(first + ` === '3g.40gb+3g.40gb+1g.10gb*'`)
	var h api.HoldingsCourse
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		f.call("GET", "/v1/holdings/course", nil, &h)
		if len(h.Nodes) == 1 && h.Nodes[0].Devices[0].Spans[0].To > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", h)
		}
	}
	span := h.Nodes[0].Devices[0].Spans[0]
	g.visit("map?at=" + url.QueryEscape(time.UnixMilli((span.From+span.To)/2).UTC().Format("2006-01-02T15:04:05.000Z")))
	g.until(`document.querySelector('.bench-mig') && ` + first + ` === '3g.40gb*+3g.40gb+1g.10gb*' && document.querySelector('.map-side').innerText.includes('slices')`)
}

// The map of a past moment has the nodes as they were.
func TestTheMapRemembersHowNodesWere(t *testing.T) {
	f := newFleetLooked(t, 50*time.Millisecond, hall()[:2]...)
	how := func(fits func(api.HoldingsCourse, []api.HealthSpan) bool) (h api.HoldingsCourse, spans []api.HealthSpan) {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			h, spans = api.HoldingsCourse{}, nil
			f.call("GET", "/v1/holdings/course", nil, &h)
			for _, n := range h.Nodes {
				spans = append(spans, n.Health...)
			}
			if fits(h, spans) {
				return h, spans
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v", h)
			}
		}
	}
	f.call("POST", "/v1/nodes/gpu-a01/cordon", doc{}, nil)
	how(func(_ api.HoldingsCourse, all []api.HealthSpan) bool { return len(all) == 1 })
	f.call("POST", "/v1/nodes/gpu-a01/uncordon", doc{}, nil)
	_, spans := how(func(_ api.HoldingsCourse, all []api.HealthSpan) bool { return len(all) == 1 && all[0].To > all[0].From })
	then := time.UnixMilli((spans[0].From + spans[0].To) / 2).UTC().Format("2006-01-02T15:04:05.000Z")
	g := f.enter(1280, 800)
	g.visit("map")
	const legend = `document.querySelector('.map-legend')?.innerText.replace(/\s+/g, ' ').trim()`
	g.until(legend + ` === 'Free 16'`)
	g.visit("map?at=" + url.QueryEscape(then))
	g.until(legend + ` === 'Free 8 Unavailable 8' && document.querySelector('.timeline-note').innerText.includes('node health')`)
	g.visit("map?at=" + url.QueryEscape(time.UnixMilli(spans[0].From).Add(-2*time.Hour).UTC().Format("2006-01-02T15:04:05Z")))
	g.until(legend + ` === 'Free 16' && document.querySelector('.timeline-note').innerText.includes('not recorded')`)
}

// A node that is gone is on the map of a moment at which something was held on it.
func TestTheMapRemembersNodesThatAreGone(t *testing.T) {
	f := newFleetLooked(t, 50*time.Millisecond, hall()[:2]...)
	w := f.submit("Running", doc{"name": "there", "resources": doc{"gpu": 3, "cpu": 1}})
	node := w.Attempts[0].Tasks[0].Node
	f.call("POST", "/v1/projects/default/workloads/there:stop", doc{}, nil)
	var h api.HoldingsCourse
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		f.call("GET", "/v1/holdings/course", nil, &h)
		if len(h.Nodes) == 1 && h.Nodes[0].Name == node && h.Nodes[0].Devices[0].Spans[0].To > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", h)
		}
	}
	if err := f.backend.Remove(core.NodeID(node)); err != nil {
		t.Fatal(err)
	}
	g := f.enter(1280, 800)
	g.visit("map")
	g.until(`document.querySelector('.map-legend')?.innerText.replace(/\s+/g, ' ').trim() === 'Free 8'`)
	span := h.Nodes[0].Devices[0].Spans[0]
	g.visit("map?at=" + url.QueryEscape(time.UnixMilli((span.From+span.To)/2).UTC().Format("2006-01-02T15:04:05.000Z")))
	g.until(`document.querySelector('.map-legend')?.innerText.replace(/\s+/g, ' ').trim() === 'Free 8 Allocated 3' && document.querySelector('.map-side').innerText.includes('there')`)
	g.visit("map?as=table&at=" + url.QueryEscape(time.UnixMilli((span.From+span.To)/2).UTC().Format("2006-01-02T15:04:05.000Z")))
	g.until(`[...document.querySelectorAll('tbody tr')].some(e => e.innerText.includes(` + quoted(node) + `))`)
}
