package browser_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/testing/fakebackend"
)

var waitingMany = flag.Int("browser.waiting", 100_000, "how many workloads wait in BenchmarkHundredThousandWait")

// BenchmarkHundredThousandWait opens the list, the queue, the overview and the map while
// 100,000 workloads wait for 10,000 GPUs that are all held, each in a page that was just
// loaded; it tells how long a change takes until it is drawn, and what a page takes
// that rests, once it has read all the rows that it keeps. Of the same thing all pages
// say the same number.
func BenchmarkHundredThousandWait(b *testing.B) {
	nodes := make([]core.Node, 1250)
	for i := range nodes {
		nodes[i] = fakebackend.Node(core.NodeID(fmt.Sprintf("node-%04d", i)), 96_000, 512<<30, 8, "NVIDIA H100 80GB")
		nodes[i].Labels = map[string]string{"rack": fmt.Sprintf("r%02d", i/16)}
	}
	f := newFleetLooked(b, 10*time.Second, nodes...)
	for i := range 5 {
		f.submit("Running", doc{"name": fmt.Sprintf("wide-%d", i), "kind": "distributed", "workers": 250, "resources": doc{"gpu": 8, "cpu": 1}, "preemptible": false})
	}
	const atOnce = 5000
	for from := 0; from < *waitingMany; from += atOnce {
		docs := make([]doc, min(atOnce, *waitingMany-from))
		for i := range docs {
			docs[i] = doc{"name": fmt.Sprintf("run-%06d", from+i), "command": []string{"fake", "run=forever"}, "resources": doc{"gpu": []int{8, 4, 1}[i%3], "cpu": 1}, "maxDuration": "4h"}
		}
		f.call("POST", "/v1/workloads:bulk", docs, nil)
	}
	g := f.enter(1280, 800)
	stopped := 0
	digits := `.innerText.replace(/[\s\u202f\u00a0,.]/g, '')`
	pages := []struct{ name, path, shown, says string }{
		{"list", "workloads?q=status:waiting", `document.querySelector('tbody tr .row-link')`, `document.querySelector('.page-sub')` + digits + `.includes('LIVE')`},
		{"queue", "queue", `document.querySelector('.queue-place')?.innerText === '#1'`, `document.querySelector('.page-sub')` + digits + `.startsWith('WAITING')`},
		{"overview", "overview", `document.querySelectorAll('.tile').length === 6 && [...document.querySelectorAll('.card')].find(e => e.innerText.startsWith('Waiting workloads'))?.querySelector('li .line-why b')?.innerText.trim() === '#1'`, `[...document.querySelectorAll('.tile')].find(e => e.innerText.includes('Waiting'))` + digits + `.includes('WAITING')`},
		{"map", "map", `document.querySelector('canvas')?.dataset.spots === '10000'`, `document.querySelectorAll('.map-side li').length > 5 && !document.querySelector('main').innerText.includes('Nothing')`},
	}
	took := map[string][]float64{}
	for b.Loop() {
		for _, p := range pages {
			if err := g.Open(f.url + "/ui/" + p.path); err != nil {
				b.Fatal(err)
			}
			var ms float64
			g.must(g.Eval(when(``, p.shown)+`.then(() => performance.now())`, &ms)) // since the page began
			took[p.name] = append(took[p.name], ms)
			g.until(strings.ReplaceAll(strings.ReplaceAll(p.says, "WAITING", fmt.Sprint(*waitingMany-stopped)), "LIVE", fmt.Sprint(*waitingMany+5-stopped)))
			var asked []string // what the page asked for until then: where the time went
			g.must(g.Eval(`performance.getEntriesByType('resource').filter(e => e.startTime < `+fmt.Sprint(ms)+` && e.duration > 30).map(e => new URL(e.name).pathname.split('/').slice(-2).join('/') + ' ' + Math.round(e.startTime) + '+' + Math.round(e.duration))`, &asked))
			b.Logf("%s: %.0f ms; %s", p.name, ms, strings.Join(asked, ", "))
		}
		for _, p := range pages[:2] {
			g.visit(p.path)
			g.until(p.shown)
			g.until(`document.querySelector('.nav .live').dataset.state === 'live'`)
			g.rests(`/\/rows$/.test(new URL(e.name).pathname)`)
			before, err := g.Metric("TaskDuration")
			g.must(err)
			time.Sleep(20 * time.Second)
			after, err := g.Metric("TaskDuration")
			g.must(err)
			took[p.name+"-rest"] = append(took[p.name+"-rest"], 100*(after-before)/20)
		}
		g.visit("workloads")
		name := fmt.Sprintf("run-%06d", *waitingMany-1-len(took["change"]))
		g.until(row(name) + `.includes('Queued')`)
		var ms float64
		g.must(g.Eval(`(async () => { const r = await fetch('../v1/projects/default/workloads/`+name+`:stop', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}); if (!r.ok) throw new Error(r.status + ' ' + await r.text()); return `+
			when(``, `!`+row(name)+`.includes('Queued')`)+` })()`, &ms))
		took["change"] = append(took["change"], ms)
		stopped++
	}
	for range 9 { // what quotas take is taken from the one writer, for which every other question waits
		begun := time.Now()
		f.call("GET", "/v1/quota", nil, nil)
		took["quota"] = append(took["quota"], float64(time.Since(begun))/float64(time.Millisecond))
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name)
	}
	b.ReportMetric(0, "ns/op")
}

// rests waits until for three seconds nothing was asked for that fits a condition on e.
func (g *page) rests(fits string) {
	g.t.Helper()
	for before, same := -1, time.Now(); time.Since(same) < 3*time.Second; time.Sleep(100 * time.Millisecond) {
		var asked int
		g.must(g.Eval(`performance.getEntriesByType('resource').filter(e => `+fits+`).length`, &asked))
		if asked != before {
			before, same = asked, time.Now()
		}
	}
}
