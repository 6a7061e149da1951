package browser_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/browser"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// machineScreens are looked at over a hall of 64 GPUs.
var machineScreens = []screen{
	{name: "overview", path: "overview", ready: `document.querySelectorAll('.tile').length === 6 && document.querySelector('.who tbody tr') && document.querySelector('.plot .line') && document.querySelector('.trouble')`},
	{name: "map", path: "map", ready: `document.querySelector('canvas')?.dataset.spots === '64' && document.querySelectorAll('.map-side li').length > 5`},
	{name: "map-project", path: "map?by=project", ready: `document.querySelectorAll('.map-legend li').length > 4`, then: func(g *page) {
		g.must(g.Eval(`document.querySelector('.board').focus()`, nil))
		g.press("ArrowDown", "ArrowRight")
	}},
	{name: "map-use", path: "map?by=use", ready: `document.querySelector('.map-legend').innerText.includes('idle')`},
	{name: "map-waiting", path: "map?by=time", ready: `document.querySelectorAll('.map-side li').length > 5`, then: func(g *page) {
		g.clickUntil(".side-name", "sweep-large", `/would start|fits nowhere/.test(document.querySelector('.outlook-strip')?.innerText)`)
	}},
	{name: "map-table", path: "map?as=table", ready: `document.querySelectorAll('tbody tr').length > 8`},
	{name: "map-ahead", path: "map", ready: `document.querySelector('.timeline input')`, then: func(g *page) {
		g.must(g.Eval(`(() => { const e = document.querySelector('.timeline input'); e.value = 240; e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
		g.until(`document.querySelector('.timeline').dataset.when === 'ahead' && document.querySelectorAll('.map-side li').length > 1`)
	}},
	{name: "nodes", path: "nodes", ready: `document.querySelectorAll('tbody tr').length === 8`},
	{name: "nodes-none", path: "nodes?q=no-such", ready: `document.body.innerText.includes('No node matches')`},
	{name: "node", path: "nodes/gpu-a04", ready: `document.querySelectorAll('.devices tbody tr').length === 8 && document.querySelector('.steps tbody tr') && document.querySelectorAll('.plot .line').length > 2`},
	{name: "node-cordoned", path: "nodes/gpu-a08", ready: `document.querySelector('.drain-state')`},
	{name: "node-drain", path: "nodes/gpu-a04", ready: `document.querySelector('.steps tbody tr')`, then: func(g *page) {
		g.clickText("button", "Drain")
		g.until(`document.querySelector('dialog .drain-time')`)
	}},
	{name: "node-missing", path: "nodes/nowhere", ready: `document.body.innerText.includes('No node nowhere')`},
	{name: "clusters", path: "clusters", ready: `document.querySelector('.clusters .card')`},
}

// TestScreensOfMachines is TestScreens for what shows machines.
func TestScreensOfMachines(t *testing.T) {
	f := newFleet(t, hall()...)
	f.work()
	lookAt(t, f.enter, machineScreens)
}

// On a phone the columns that matter are seen, without scrolling sideways.
func TestTablesFitOnPhones(t *testing.T) {
	f := newFleet(t, hall()...)
	f.work()
	g := f.enter(380, 800)
	seen := func(text string) {
		t.Helper()
		g.until(`[...document.querySelectorAll('table.plain th, table.plain td')].some(e => e.innerText.trim() === ` + browser.Quote(text) + ` && e.getBoundingClientRect().width > 0 && e.getBoundingClientRect().right <= innerWidth - 14)`)
	}
	g.visit("overview")
	seen("Free")
	seen("19.25")
	g.visit("nodes/gpu-a04")
	seen("Allocated to")
	seen("notebook-anna")
	seen("If drained")
	seen("Moves")
}

// From the overview to a free GPU, by keyboard on the map, and then in its table.
func TestAFreeGPUIsFound(t *testing.T) {
	f := newFleet(t, hall()...)
	f.work()
	g := f.enter(1280, 800)
	g.visit("overview")
	g.until(`[...document.querySelectorAll('.tile')].find(e => e.innerText.startsWith('GPUs allocated')).innerText.includes('of 64')`)
	g.until(`document.querySelector('.trouble')?.innerText.includes('fan to be changed')`)
	g.until(`[...document.querySelectorAll('.lines li')].some(e => e.innerText.includes('finetune-lora') && e.innerText.includes('Failed'))`)
	g.until(`[...document.querySelectorAll('.tile')].find(e => e.innerText.startsWith('Allocated but idle')).querySelector('.tile-value').innerText === '2'`)
	g.until(`[...document.querySelectorAll('.who tr')].some(e => e.innerText.includes('36.75'))`)
	g.click(".tile")
	g.until(`document.querySelector('h1').innerText === 'GPU map' && document.querySelector('canvas')?.dataset.spots === '64'`)
	// 64, less 36.75 held and the 8 of the node that takes nothing.
	g.until(`document.querySelector('.free-count').innerText === '19.25'`)
	g.until(`document.querySelector('.map-legend').innerText.includes('Free')`)
	g.clickText(".presets button", "Free only")
	g.until(`location.search === '?free=1'`)
	g.must(g.Eval(`document.querySelector('.board').focus()`, nil))
	g.press("ArrowRight")
	g.until(`/: free$/.test(document.querySelector('.board [role=status]').innerText)`) // it begins at one that is free
	var said string
	g.must(g.Eval(`document.querySelector('.board [role=status]').innerText`, &said))
	node, _, _ := strings.Cut(said, ",")
	g.clickText(".page-actions button", "Table")
	g.until(`document.querySelectorAll('tbody tr').length > 5 && [...document.querySelectorAll('tbody td[data-column=state]')].every(e => e.innerText === 'Free')`)
	g.until(`[...document.querySelectorAll('tbody .row-link')].some(e => e.innerText === ` + browser.Quote(node) + `)`)
	g.clickText(".page-actions button", "Map")
	g.until(`document.querySelector('canvas')?.dataset.spots === '64'`)
	g.must(g.Eval(`document.querySelector('.board').focus()`, nil))
	g.press("ArrowRight", "Enter")
	g.until(`document.querySelector('h1').innerText === ` + browser.Quote(node))
	g.until(`[...document.querySelectorAll('.gpu-state')].some(e => e.innerText === 'Free')`)
}

// Who holds a GPU is seen under it, and the GPUs of a workload are seen from it;
// of one that waits it is seen where it would be.
func TestTheMapTellsWhoAndWhere(t *testing.T) {
	nodes := hall()[:2]
	nodes[1].Links = twoIslands()
	f := newFleet(t, nodes...)
	f.submit("Running", doc{"name": "first", "resources": doc{"gpu": 8, "cpu": 1}, "maxDuration": "2h"})
	f.submit("Running", doc{"name": "second", "resources": doc{"gpu": 8, "cpu": 1}, "maxDuration": "1h"})
	f.submit("Queued", doc{"name": "third", "resources": doc{"gpu": 8, "cpu": 1}})
	g := f.enter(1280, 800)
	g.visit("map")
	g.until(`document.querySelector('canvas')?.dataset.spots === '16' && document.querySelectorAll('.map-side li').length === 3`)
	g.until(`document.querySelector('.free-count').innerText === '0'`)
	g.must(g.Eval(`document.querySelector('.board').focus()`, nil))
	g.press("Home")
	g.until(`/gpu-a01, GPU 0, .*: allocated by (first|second)/.test(document.querySelector('.board [role=status]').innerText)`)
	g.until(`document.querySelector('.board-card').innerText.includes('default')`)
	g.until(`[...document.querySelectorAll('.map-side button[data-meant]')].length === 1`)
	g.press("Escape")
	g.clickText(".side-name", "third")
	// The page tells the start that everyone is told, in which either of them ends.
	g.until(`/third would start in (\d+m|1h)/.test(document.querySelector('.outlook-strip').innerText) && document.querySelector('.outlook-strip').innerText.includes('once these have ended: second')`)
	var said float64
	g.must(g.Eval(`(m => m[1] === '1h' ? 60 : parseInt(m[1]))(document.querySelector('.outlook-strip').innerText.match(/third would start in (\d+m|1h)/))`, &said))
	var why api.Why
	f.call("GET", "/v1/projects/default/workloads/third/why", nil, &why)
	if why.Estimate == nil || why.Estimate.Likely == nil {
		t.Fatalf("nobody is told when it starts: %+v", why.Estimate)
	}
	if told := time.Until(time.Time(*why.Estimate.Likely)).Minutes(); math.Abs(told-said) > 2 || said > 60 {
		t.Errorf("the page says %v minutes, why says %.1f", said, told)
	}
	g.until(`location.search.includes('w=')`)
	// It goes on living: a place that is free is said without a reload.
	f.call("POST", "/v1/projects/default/workloads/first:stop", doc{"gracePeriod": "1s"}, nil)
	g.until(`[...document.querySelectorAll('.map-side ul:first-of-type .side-name')].some(e => e.innerText === 'third')`)
	// What connects GPUs is drawn where their backend knows it.
	g.visit("nodes/gpu-a01")
	g.until(`document.querySelectorAll('.devices tbody tr').length === 8`)
	g.until(`!document.querySelector('.gpu-links')`)
	g.visit("nodes/gpu-a02")
	g.until(`document.querySelectorAll('.gpu-links .gpu-link[data-kind=nvlink]').length === 12 && document.querySelectorAll('.gpu-links .gpu-link').length === 12`)
	g.until(`document.querySelector('.gpu-links-legend').innerText.replace(/\s+/g, ' ').trim() === 'NVLink between sockets (not drawn)'`)
	g.until(`[...document.querySelectorAll('.gpu-links ~ .twin tbody tr')].map(r => r.children[2].textContent).join() === 'NVLink ×4,–,NVLink ×4,NVLink ×4,between sockets,between sockets,between sockets,between sockets'`)
}

// The map has a memory: it shows who had the GPUs a while ago, and who is likely to
// have them later; the slider goes there, and the address keeps what is shown.
func TestTheMapHasAMemory(t *testing.T) {
	f := newFleet(t, hall()[:2]...)
	for _, n := range []string{"first", "second"} {
		f.submit("Running", doc{"name": n, "resources": doc{"gpu": 8, "cpu": 1}, "maxDuration": "1h"})
	}
	f.submit("Queued", doc{"name": "third", "resources": doc{"gpu": 8, "cpu": 1}, "maxDuration": "10h"})
	f.submit("Queued", doc{"name": "fourth", "resources": doc{"gpu": 8, "cpu": 1}, "maxDuration": "10h"})
	g := f.enter(1280, 800)
	g.visit("map")
	g.until(`document.querySelector('canvas')?.dataset.spots === '16' && document.querySelector('.timeline input')`)
	slide := func(minutes int) {
		g.until(fmt.Sprintf(`(() => { const e = document.querySelector('.timeline input'); if (!e) return false; e.value = %d; e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})); return true })()`, minutes))
	}
	const holders = `[...document.querySelectorAll('.map-side ul:first-of-type .side-name')].map(e => e.innerText).sort().join()`
	g.until(holders + ` === 'first,second'`)
	slide(150)
	g.until(holders + ` === 'fourth,third' && document.querySelector('.timeline-at').innerText.includes('in 2h 30m')`)
	g.until(`location.search.includes('at=') && document.querySelector('.timeline').dataset.when === 'ahead' && document.querySelector('.timeline-note').innerText.includes('Forecast')`)
	g.until(`document.querySelectorAll('.map-side h2').length === 1`) // who waits is not known of then
	g.must(g.Eval(`location.reload()`, nil))
	g.until(`document.querySelectorAll('.map-side h2').length === 1 && ` + holders + ` === 'fourth,third'`)
	slide(-90)
	g.until(holders + ` === '' && document.querySelector('.map-legend')?.innerText.includes('16') && document.querySelector('.timeline-at').innerText.includes('1h 30m ago')`)
	g.clickText("button", "Now")
	g.until(holders + ` === 'first,second' && !location.search.includes('at=')`)
	g.click(`.timeline button[aria-pressed]`) // it plays the two days, through what was seen above
	g.until(holders + ` === 'fourth,third'`)
	g.click(`.timeline button[aria-pressed]`)
}

// One machine has the page for itself: each of its GPUs says who has it and until when.
func TestTheMapOfOneMachine(t *testing.T) {
	f := newFleet(t, hall()[:1]...)
	var r backend.Reading
	f.busy(&r, f.submit("Running", doc{"name": "train", "resources": doc{"gpu": 2, "cpu": 1}, "maxDuration": "1h"}), 0.5)
	f.submit("Running", doc{"name": "half", "resources": doc{"gpu": 0.5, "cpu": 1}})
	f.submit("Running", doc{"name": "quarter", "resources": doc{"gpu": 0.25, "cpu": 1}})
	f.backend.Uses(r)
	g := f.enter(1280, 800)
	g.visit("map")
	g.until(`document.querySelectorAll('.bench-gpu').length === 8 && document.body.innerText.includes('50%')`)
	const of = `[...document.querySelectorAll('.bench-gpu')].find(e => e.innerText.includes('half'))`
	g.until(of + `?.innerText.includes('quarter')`)
	var parts []float64
	g.must(g.Eval(`(e => [...e.querySelectorAll('.bench-bar i')].map(i => i.offsetWidth / e.querySelector('.bench-bar').offsetWidth))(`+of+`)`, &parts))
	slices.Sort(parts)
	if len(parts) != 2 || math.Abs(parts[0]-.25) > .02 || math.Abs(parts[1]-.5) > .02 {
		t.Errorf("a half and a quarter are drawn as %v", parts)
	}
	g.until(`document.querySelector('.bench-gpu[data-state="held"]').innerText.includes('Free in')`)
	var fills float64
	g.must(g.Eval(`(b => b.width * b.height)(document.querySelector('.bench-gpus').getBoundingClientRect()) / (1280 * 800)`, &fills))
	if fills < .3 {
		t.Errorf("the GPUs have %.0f%% of the window", 100*fills)
	}
}

// A node is emptied: first it is said what becomes of what runs there, and then
// it becomes of it.
func TestANodeIsDrained(t *testing.T) {
	f := newFleet(t, hall()[:2]...)
	goes := f.submit("Running", doc{"name": "goes", "resources": doc{"gpu": 2, "cpu": 1}})
	node := goes.Attempts[0].Tasks[0].Node
	here := doc{"kubernetes.io/hostname": node}
	f.submit("Running", doc{"name": "stays", "resources": doc{"gpu": 2, "cpu": 1}, "preemptible": false, "maxDuration": "1h", "nodeSelector": here})
	f.submit("Running", doc{"name": "parks", "resources": doc{"gpu": 2, "cpu": 1}, "nodeSelector": here})
	g := f.enter(1280, 800)
	g.visit("nodes")
	g.until(row(node) + `.includes('6 of 8')`)
	g.clickText(".row-link", node)
	fate := func(dialog, name string) string {
		return `([...document.querySelectorAll('` + dialog + ` .steps tbody tr')].find(r => r.innerText.startsWith(` + browser.Quote(name) + `))?.innerText ?? '')`
	}
	g.until(fate("", "goes") + `.includes('Moves')`) // what would be is seen before anybody asks
	g.clickText(".page-actions button", "Drain")
	g.until(fate("dialog", "goes") + `.includes('Moves') && ` + fate("dialog", "stays") + `.includes('Stays') && ` + fate("dialog", "parks") + `.includes('Waits')`)
	g.until(`/empty in (59m|1h)/.test(document.querySelector('.drain-time').innerText)`)
	g.click("dialog .tickbox input")
	g.until(fate("dialog", "stays") + `.includes('Waits')`)
	g.click("dialog .tickbox input")
	g.until(fate("dialog", "stays") + `.includes('Stays')`)
	g.click("dialog .drain-note input")
	g.write("fan to be changed")
	g.clickText("dialog summary", "As a command")
	g.until(`document.querySelector('.copyas pre')?.innerText.includes("muster node drain ` + node + ` --note 'fan to be changed'")`)
	var left string
	g.must(g.Eval(`document.querySelector('.page-sub .status').innerText`, &left))
	if left != "Ready" {
		t.Fatalf("the node is %s though nobody has drained it", left)
	}
	g.clickText("dialog .dialog-foot button", "Drain")
	g.until(`!document.querySelector('dialog[open]') && document.querySelector('.page-sub .status').innerText === 'Draining'`)
	g.until(`document.querySelector('.drain-state').innerText.includes('1 task left') && document.querySelector('.drain-state').innerText.includes('fan to be changed')`)
	g.until(`[...document.querySelectorAll('.steps tbody tr')].length === 1`)
	f.call("POST", "/v1/projects/default/workloads/stays:stop", doc{"gracePeriod": "1s"}, nil)
	g.until(`document.querySelector('.page-sub .status').innerText === 'Drained'`)
	var moved struct {
		Attempts []struct{ Tasks []struct{ Node string } }
	}
	f.call("GET", "/v1/projects/default/workloads/goes", nil, &moved)
	if a := moved.Attempts; a[len(a)-1].Tasks[0].Node == node {
		t.Errorf("goes is where it was")
	}
	g.clickText(".page-actions button", "Uncordon")
	g.until(`document.querySelector('.page-sub .status').innerText === 'Ready'`)
	g.until(`document.querySelector('.steps tbody tr')?.innerText.startsWith('parks')`) // it is back
}

// What would become of a node's work is asked for when it is other work, not
// whenever something happens elsewhere.
func TestANodeIsNotPlannedForOthers(t *testing.T) {
	f := newFleet(t, hall()[:2]...)
	on := func(node, name string) {
		f.submit("Running", doc{"name": name, "resources": doc{"gpu": 1, "cpu": 1}, "nodeSelector": doc{"kubernetes.io/hostname": node}})
	}
	on("gpu-a01", "first")
	g := f.enter(1280, 800)
	g.visit("nodes/gpu-a01")
	g.until(`document.querySelectorAll('.steps tbody tr').length === 1`)
	asked := func() (n int) {
		g.must(g.Eval(`performance.getEntriesByType('resource').filter(r => r.name.includes('dry_run')).length`, &n))
		return n
	}
	before := asked()
	for i := range 4 {
		on("gpu-a02", fmt.Sprintf("other-%d", i))
		time.Sleep(1100 * time.Millisecond) // an overview for each
	}
	if n := asked(); n != before {
		t.Errorf("it was asked %d times more for what happened elsewhere", n-before)
	}
	on("gpu-a01", "second")
	g.until(`document.querySelectorAll('.steps tbody tr').length === 2`)
}

// A thousand nodes with eight GPUs each are drawn at once, and stay smooth.
func TestTheMapOfAThousandNodes(t *testing.T) {
	nodes := make([]core.Node, 1250)
	for i := range nodes {
		nodes[i] = fakebackend.Node(core.NodeID(fmt.Sprintf("node-%04d", i)), 96_000, 512<<30, 8, "NVIDIA H100 80GB")
		nodes[i].Labels = map[string]string{"rack": fmt.Sprintf("r%02d", i/16)}
	}
	f := newFleet(t, nodes...)
	f.submit("Running", doc{"name": "wide", "kind": "distributed", "workers": 200, "resources": doc{"gpu": 8, "cpu": 1}})
	g := f.enter(1280, 800)
	g.visit("workloads")
	g.until(`document.querySelector('.nav .live').dataset.state === 'live'`)
	var first float64 // in the page, from the click until a frame has the map in it
	g.must(g.Eval(`(async () => {
		const begun = performance.now()
		document.querySelector('.nav a[href$="/map"]').click()
		while (document.querySelector('canvas')?.dataset.spots !== '10000') await new Promise(requestAnimationFrame)
		await new Promise(requestAnimationFrame)
		return performance.now() - begun
	})()`, &first))
	t.Logf("%.0f ms until it is first drawn", first)
	g.until(`document.querySelector('canvas')?.dataset.spots === '10000' && document.querySelector('.map-legend').innerText.includes('1600')`)
	var ms float64
	working := func() float64 {
		v, err := g.Metric("TaskDuration")
		g.must(err)
		return v
	}
	before := working()
	g.must(g.Eval(`(async () => {
		const b = document.querySelector('.board'), c = b.querySelector('canvas').getBoundingClientRect(), frame = () => new Promise(requestAnimationFrame)
		const begun = performance.now()
		for (let i = 0; i < 40; i++) {
			b.scrollTop = i * 12
			b.querySelector('canvas').dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: c.left + 20 + i * 9, clientY: c.top + 60 + i * 5}))
			await frame()
		}
		return (performance.now() - begun) / 40
	})()`, &ms))
	t.Logf("%.1f ms for each frame while it is scrolled and pointed at, in %.1f ms of which the page works", ms, (working()-before)/40*1000)
	g.must(g.Eval(`document.querySelector('.timeline input').stepUp(30), document.querySelector('.timeline input').dispatchEvent(new Event('input', {bubbles: true}))`, nil))
	g.until(`document.querySelector('.timeline').dataset.when === 'ahead' && document.querySelector('.map-legend').innerText.includes('1600')`)
	g.must(g.Eval(`(async () => {
		const e = document.querySelector('.timeline input'), begun = performance.now()
		for (let i = 0; i < 40; i++) {
			e.stepUp(5)
			e.dispatchEvent(new Event('input', {bubbles: true}))
			await new Promise(requestAnimationFrame)
		}
		return (performance.now() - begun) / 40
	})()`, &ms))
	t.Logf("%.1f ms for each step of the slider", ms)
	var most int
	g.must(g.Eval(`document.querySelectorAll('*').length`, &most))
	if most > 2500 {
		t.Errorf("%d elements are in the document", most)
	}
	g.visit("nodes?sort=-free")
	g.until(`document.querySelector('.page-sub').innerText.startsWith('1250 nodes')`)
}
