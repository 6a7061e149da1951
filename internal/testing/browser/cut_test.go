package browser_test

import (
	"fmt"
	"testing"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

// What is long is read whole where there is room for it, at the sizes of a laptop and of
// a phone; what is not there is not drawn; and of a gang with many ranks only those have a
// color in the key that are drawn in it.
func TestWhatIsLongIsReadWhole(t *testing.T) {
	var nodes []core.Node
	for i := range 32 {
		n := fakebackend.Node(core.NodeID(fmt.Sprintf("gpu-a%02d-fake-0", i)), 96_000, 512<<30, 8, "NVIDIA H100 80GB")
		n.Labels = map[string]string{"rack": fmt.Sprintf("r%02d", i/8)}
		nodes = append(nodes, n)
	}
	f := newFleet(t, nodes...)
	var r backend.Reading
	f.busy(&r, f.submit("Running", doc{"name": "gang", "kind": "distributed", "workers": 12, "preemptible": false, "resources": doc{"gpu": 8, "cpu": 1}}), 0.9)
	f.submit("Running", doc{"name": "rest", "kind": "distributed", "workers": 20, "preemptible": false, "maxDuration": "200h", "resources": doc{"gpu": 8, "cpu": 1}})
	f.backend.Uses(r)
	f.submit("Queued", doc{"name": "wide", "resources": doc{"gpu": 8, "cpu": 1}})
	f.submit("Queued", doc{"name": "array", "array": doc{"completions": 100_000, "parallelism": 4}, "resources": doc{"gpu": 1, "cpu": 1}})
	f.submit("", doc{"name": "held", "resources": doc{"gpu": 1, "cpu": 1}})
	f.call("POST", "/v1/projects/default/workloads/held:hold", doc{}, nil)

	g := f.enter(1440, 900)
	g.visit("workloads")
	const cut = `((e) => e.scrollWidth > e.clientWidth + 1)`
	line := func(name string) string {
		return `[...document.querySelectorAll('tbody tr')].find(e => e.querySelector('.row-link')?.innerText === '` + name + `')`
	}
	g.until(line("held") + `?.innerText.includes('Inadmissible')`)
	g.until(`!` + cut + `(` + line("held") + `.querySelector('.status span'))`)
	g.until(line("array") + `.innerText.includes('100\u202f000') && ![...` + line("array") + `.querySelectorAll('td')].some(` + cut + `)`)
	g.until(`/#\d+\s+~\d+ \w+ \d\d:\d\d/.test(` + line("wide") + `.innerText) && !` + cut + `(` + line("wide") + `.querySelector('.where'))`)

	g.visit("workloads/default/array")
	g.until(`document.querySelector('[data-tab="tasks"]')?.innerText.includes('100\u202f000')`)

	g.visit("map")
	g.until(`document.querySelector('canvas')?.dataset.spots === '256' && document.querySelector('.map-side').innerText.includes('gang')`)
	g.until(`document.querySelector('canvas').dataset.nvlinks === '0' && document.querySelector('.board').scrollHeight <= document.querySelector('.board').clientHeight`)

	g.visit("workloads/default/gang?tab=metrics")
	g.until(`document.querySelectorAll('.plot-key button').length === 12 && document.querySelector('.plot .line')`)
	g.until(`!document.querySelector('.plot-key .swatch')`)
	g.clickText(".plot-key button", "worker 9")
	g.until(`document.querySelectorAll('.plot-key .swatch').length === 1 && document.querySelectorAll('.plot .line[data-l="1"][stroke-dasharray]').length > 0`)
	g.until(`document.querySelector('.plot-key .swatch[data-broken]').parentElement.dataset.l === '1'`)

	one := newFleet(t, fakebackend.Node("one", 96_000, 512<<30, 8, "NVIDIA H100 80GB"))
	one.submit("Running", doc{"name": "holder", "preemptible": false, "resources": doc{"gpu": 6, "cpu": 1}})
	one.submit("Queued", doc{"name": "wide", "kind": "distributed", "workers": 3, "resources": doc{"gpu": 1, "cpu": 1}})
	small := one.enter(390, 844)
	small.visit("workloads/default/wide")
	small.until(`document.querySelector('.offer code')`)
	small.until(`[...document.querySelectorAll('.offer')].every(e => e.querySelector('code').getBoundingClientRect().height < 30 && e.scrollWidth <= e.clientWidth)`)
}
