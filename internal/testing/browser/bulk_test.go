package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
)

// What is asked of many is done by the server: whoever leaves the page at once
// ends nothing, and who comes back is told what became of it, workload by
// workload.
func TestManyAreStoppedWhoeverLeaves(t *testing.T) {
	w := newWorld(t)
	docs := make([]map[string]any, 1000)
	for i := range docs {
		docs[i] = map[string]any{"name": fmt.Sprintf("run-%04d", i), "command": "sleep 1000", "resources": map[string]any{"gpu": 8, "cpu": 0.1}}
	}
	w.bulk(docs)
	g := w.enter(1280, 800)
	g.visit("workloads")
	g.until(`document.querySelector('.page-sub').innerText === '1000 workloads'`)
	g.click(`thead input[type="checkbox"]`)
	g.until(`document.querySelector('.bulk-count')?.innerText === '1000 workloads selected'`)
	g.clickText(".bulk button", "Stop")
	g.until(`document.querySelector('dialog[open] .names')`)
	g.until(`performance.clearResourceTimings() === undefined`)
	g.clickText("dialog button", "Stop")
	g.until(`sessionStorage.getItem('muster.bulk.unsaid')?.length > 2 || document.querySelector('.toasts').innerText.includes('Stopping 1000 workloads')`)
	var asked int
	g.must(g.Eval(`performance.getEntriesByType('resource').filter(e => e.name.includes(':stop')).length`, &asked))
	if asked > 0 {
		t.Errorf("the page asked %d workloads by itself", asked)
	}
	g.must(g.Open(w.url + "/livez"))
	for deadline := time.Now().Add(browser.Patience); ; time.Sleep(50 * time.Millisecond) {
		left := strings.Fields(w.muster("get", "--all", "--filter", "status:active,waiting", "--limit", "0", "-o", "name"))
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d were not stopped, such as %s", len(left), left[0])
		}
	}
	g.visit("workloads")
	g.until(`document.querySelector('.toasts').innerText.includes('Stopping 1000 workloads')`)

	// What was refused is listed with its reason; an action that the server does not
	// know any more was ended by its restart.
	g.until(`(globalThis.asked ??= (async () => {
		const rows = await (await fetch('../v1/projects/-/rows?limit=2')).json()
		const r = await fetch('../v1/bulk-actions', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({action: 'stop', workloads: [rows.items[0].id, rows.items[1].id]})})
		const a = await r.json()
		sessionStorage.setItem('muster.bulk.unsaid', JSON.stringify([a.id, 'earlier-1']))
		globalThis.put = true
	})()) && globalThis.put`)
	g.visit("overview")
	g.until(`document.querySelector('.toasts').innerText.includes('Stop: 0 of 2 done, 2 refused')`)
	g.until(`document.querySelector('.toasts').innerText.includes('server has started again')`)
	g.clickText(".toasts button", "Show results")
	g.until(`document.querySelectorAll('dialog .bulk-outcomes li').length === 2`)
	g.until(`document.querySelector('dialog .bulk-outcomes').innerText.includes('run-0999') && document.querySelector('dialog .bulk-outcomes').innerText.includes('run-0998: stop is not possible')`)
	g.clickText("dialog .bulk-outcomes a", "run-0999")
	g.until(`document.querySelector('h1')?.innerText.includes('run-0999') && !document.querySelector('dialog[open]')`)
}
