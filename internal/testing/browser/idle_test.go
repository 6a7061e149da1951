package browser_test

import (
	"strings"
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
		// What it begins with: what has changed meanwhile it reads once more, after nine
		// times as long as the reading took (web/src/live/fetch.ts).
		var longest float64 // ms
		for same := time.Now(); time.Since(same) < 3*time.Second+time.Duration(10*longest)*time.Millisecond; time.Sleep(100 * time.Millisecond) {
			g.must(g.Eval(`Math.max(0, ...performance.getEntriesByType('resource').filter(e => !e.name.includes('/ui/') && !/\/(stream|watch)$/.test(new URL(e.name).pathname)).map(e => e.duration))`, &longest))
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
		measured := 0
		for _, what := range after[len(before):] {
			if measured++; !strings.HasSuffix(what, "/metrics") || measured > 1 {
				t.Errorf("%s asked for %v while it rested", path, after[len(before):])
				break
			}
		}
		t.Logf("%s: %.1f %% of a core in scripts", path, 100*(more-work)/span.Seconds())
	}
}
