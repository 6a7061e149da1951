package browser_test

import (
	"testing"
	"time"
)

// A page that rests costs next to nothing: what changes with time changes a few
// texts, and nothing is asked for but measurements, once with a heartbeat.
func TestARestingPageRests(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: long, command: "sleep 1000", resources: {gpu: 1, cpu: 0.1}}`)
	g := w.enter(1280, 800)
	g.visit("workloads?q=is:idle")
	g.until(row("long") + `.includes('Running')`) // that it is seen doing nothing is the last that happens to it
	const span = 5 * time.Second
	for path, ready := range map[string]string{
		"workloads":                          row("long") + `.includes('Running')`,
		"overview":                           `document.querySelector('main .plot')`,
		"workloads/default/long?tab=metrics": `document.querySelector('main .plot')`,
		"workloads/default/long":             `document.querySelector('.gantt')`,
		"nodes/" + w.node():                  `document.querySelector('.node-grid')`,
		"queue":                              `document.querySelector('h1')`,
	} {
		g.visit(path)
		g.until(ready)
		const asked = `performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.includes('/ui/')).map(n => new URL(n).pathname)`
		var before, after []string
		g.must(g.Eval(asked, &before))
		for same := time.Now(); time.Since(same) < 3*time.Second; time.Sleep(100 * time.Millisecond) { // what it begins with
			if g.must(g.Eval(asked, &after)); len(after) > len(before) {
				before, same = after, time.Now()
			}
		}
		work, err := g.Metric("ScriptDuration")
		g.must(err)
		time.Sleep(span)
		more, err := g.Metric("ScriptDuration")
		g.must(err)
		g.must(g.Eval(asked, &after))
		// What was to be read once more may come late where the first answer took long:
		// a page that rests asks for nothing twice.
		times := map[string]int{}
		for _, what := range after[len(before):] {
			if times[what]++; times[what] > 1 || len(times) > 2 {
				t.Errorf("%s asked for %v while it rested", path, after[len(before):])
				break
			}
		}
		t.Logf("%s: %.1f %% of a core in scripts", path, 100*(more-work)/span.Seconds())
	}
}
