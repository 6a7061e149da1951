package browser_test

import (
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"
)

var memoryFor = flag.Duration("browser.memory", 2*time.Minute, "how long BenchmarkMemory lets a page live")

// when is a JavaScript expression that promises the milliseconds from now until
// something is true and has been drawn.
func when(do, is string) string {
	return `new Promise((done, no) => { const begun = performance.now(); ` + do + `; const look = () => (` + is + `) ? requestAnimationFrame(() => done(performance.now() - begun)) : performance.now() - begun > 60000 ? no(new Error('never')) : requestAnimationFrame(look); look() })`
}

func (g *page) measure(do, is string) float64 {
	g.t.Helper()
	var ms float64
	g.must(g.Eval(when(do, is), &ms))
	return ms
}

// ended waits for a workload to succeed, which may take longer than any command.
func (w *world) ended(name string, most time.Duration) {
	w.t.Helper()
	w.reaches(name, "Completed", most)
}

// reaches waits for a phase of a workload, which may take longer than any command.
func (w *world) reaches(name, phase string, most time.Duration) {
	w.t.Helper()
	for begun := time.Now(); ; {
		_, err := w.try("wait", name, "--for", phase, "--timeout", "30s")
		if err == nil {
			return
		}
		if time.Since(begun) > most {
			w.t.Fatal(err)
		}
	}
}

// BenchmarkHugeLog opens the end of a log of 1 GiB, and searches it whole.
func BenchmarkHugeLog(b *testing.B) {
	w := newWorld(b)
	w.submit(`{name: huge, resources: {cpu: 0.5}, command: "yes 'step 1200 | loss 2.417 | grad norm 0.88 | 41,220 tokens/s | learning rate 3.0e-04 | memory 71.2 GiB' | head -c 1073741824; echo; echo the very end"}`)
	w.ended("huge", 10*time.Minute)
	g := w.enter(1280, 800)
	g.visit("workloads/default/huge")
	g.until(`document.querySelector('.bit')`)
	var open, search float64
	for b.Loop() {
		open += g.measure(`document.querySelector('[data-tab="logs"]').click()`, `document.querySelector('.log-window')?.innerText.includes('the very end')`)
		g.press("/")
		g.write("is not in it")
		search += g.measure(``, `document.querySelector('.found')?.innerText === 'none'`)
		g.press("Escape")
		g.must(g.Eval(`document.querySelector('[data-tab="overview"]').click()`, nil))
		g.until(`document.querySelector('.bit')`)
	}
	b.ReportMetric(open/float64(b.N), "ms/open")
	b.ReportMetric(search/float64(b.N), "ms/search")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkVisible is the time from a change in the server to its being drawn: a
// stop that is asked for beside the page, until its row says so.
func BenchmarkVisible(b *testing.B) {
	w := newWorld(b)
	g := w.enter(1280, 800)
	var seen float64
	for n := 0; b.Loop(); n++ {
		name := fmt.Sprintf("w-%d", n)
		w.submit(`{name: ` + name + `, command: "sleep 1000", resources: {cpu: 0.05}}`)
		g.until(row(name) + `.includes('Running')`)
		seen += g.stopped(name)
	}
	b.ReportMetric(seen/float64(b.N), "ms/change")
	b.ReportMetric(0, "ns/op")
}

// stopped asks for a stop and measures from the answer until the row shows it.
func (g *page) stopped(name string) float64 {
	g.t.Helper()
	var ms float64
	g.must(g.Eval(`(async () => { const r = await fetch('../v1/projects/default/workloads/`+name+`:stop', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}); if (!r.ok) throw new Error(r.status + ' ' + await r.text()); return `+
		when(``, `!`+row(name)+`.includes('Running')`)+` })()`, &ms))
	return ms
}

// BenchmarkMemory lets a page follow changes that never end, and compares what
// it holds at a third of the time with what it holds at the end.
func BenchmarkMemory(b *testing.B) {
	w := newWorld(b)
	w.submit(`{name: talks, resources: {cpu: 0.05}, command: "while :; do echo a line; sleep 0.01; done"}`)
	g := w.enter(1280, 800)
	g.until(row("talks") + `.includes('Running')`)
	changes := 0
	heap := func() float64 {
		n, err := g.Heap()
		g.must(err)
		return n / (1 << 20)
	}
	var early, late float64
	for b.Loop() {
		begun := time.Now()
		for ; time.Since(begun) < *memoryFor; changes++ {
			name := fmt.Sprintf("w-%d", changes%20) // a name may be taken again once its last workload is gone
			w.submit(`{name: ` + name + `, command: "true", resources: {cpu: 0.05}}`)
			w.muster("wait", name, "--timeout", "60s")
			w.muster("delete", name, "--yes")
			if early == 0 && time.Since(begun) > *memoryFor/3 {
				early = heap()
			}
		}
		late = heap()
	}
	b.ReportMetric(early, "MiB/early")
	b.ReportMetric(late, "MiB/late")
	b.ReportMetric(float64(changes)/float64(b.N), "workloads/op")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkScroll scrolls through 5,000 live workloads while some of them change,
// and reports how long frames took.
func BenchmarkScroll(b *testing.B) {
	w := newWorld(b)
	docs := make([]map[string]any, 5000)
	for i := range docs {
		docs[i] = map[string]any{"name": fmt.Sprintf("run-%04d", i), "command": "sleep 1000", "resources": map[string]any{"gpu": 1, "cpu": 0.01}}
	}
	w.bulk(docs)
	g := w.enter(1280, 800)
	g.until(`document.querySelector('.page-sub').innerText.startsWith('5000')`)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = w.try("update", fmt.Sprintf("run-%04d", 4999-i%50), "--priority", fmt.Sprint(40+i%20))
			}
		}
	})
	var r struct{ Median, P99, Longest float64 }
	for b.Loop() {
		g.must(g.Eval(`new Promise(done => { const box = document.querySelector('.table-box'), times = []; box.scrollTop = 0; let last = 0; const step = now => { if (last) times.push(now - last); last = now; box.scrollTop += 240; if (times.length < 600) requestAnimationFrame(step); else { times.sort((a, b) => a - b); done({Median: times[300], P99: times[594], Longest: times[599]}) } }; requestAnimationFrame(step) })`, &r))
	}
	close(stop)
	wg.Wait()
	b.ReportMetric(r.Median, "ms/frame")
	b.ReportMetric(r.P99, "ms/p99")
	b.ReportMetric(r.Longest, "ms/longest")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkIdle is the processor time that a page which rests takes, scripts and
// drawing, over 20 s.
func BenchmarkIdle(b *testing.B) {
	w := newWorld(b)
	w.submit(`{name: long, command: "sleep 1000"}`)
	g := w.enter(1280, 800)
	g.until(row("long") + `.includes('Running')`)
	work := func() float64 {
		n, err := g.Metric("TaskDuration")
		g.must(err)
		return n
	}
	var spent float64
	const span = 20 * time.Second
	for b.Loop() {
		before := work()
		time.Sleep(span)
		spent += work() - before
	}
	b.ReportMetric(100*spent/span.Seconds()/float64(b.N), "%cpu")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkHugeArray opens the page of an array of 100,000 tasks that have run,
// and its tasks.
func BenchmarkHugeArray(b *testing.B) {
	w := newWorld(b)
	tasks := *arraySize
	w.submit(fmt.Sprintf(`{name: huge, array: {completions: %d, parallelism: 400}, resources: {cpu: 1m}, retry: {limit: 0}, command: "true"}`, tasks))
	w.ended("huge", 2*time.Hour)
	g := w.enter(1280, 800)
	g.until(`document.querySelector('.row-link')`)
	var open, table float64
	for b.Loop() {
		open += g.measure(`document.querySelector('.row-link').click()`, `document.querySelector('.bit')`)
		table += g.measure(`document.querySelector('[data-tab="tasks"]').click()`, `document.querySelectorAll('tbody .row-link').length > 10 && document.querySelector('h1').innerText === 'huge'`)
		g.press("g", "w")
		g.until(`document.querySelector('h1').innerText === 'Workloads' && document.querySelector('.row-link')`)
	}
	b.ReportMetric(open/float64(b.N), "ms/open")
	b.ReportMetric(table/float64(b.N), "ms/tasks")
	b.ReportMetric(0, "ns/op")
}

var arraySize = flag.Int("browser.array", 100_000, "how many tasks the array of BenchmarkHugeArray has")
