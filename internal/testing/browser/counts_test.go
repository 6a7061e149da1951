package browser_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// However many wait, for whatever they wait: each page that counts them counts the
// same, and what a pool says is queued is what the list has as queued.
func TestWhatWaitsIsCountedAlikeEverywhere(t *testing.T) {
	w := newWorld(t)
	w.submit("name: blocker\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 8}\npreemptible: false")
	for i := range 3 {
		w.submit(fmt.Sprintf("name: queued-%d\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 2}", i))
	}
	w.submit("name: held\ncommand: sleep 1000\nhold: true\nresources: {cpu: 0.1, gpu: 1}")
	w.submit("name: later\ncommand: sleep 1000\nnotBefore: 2100-01-01T00:00:00Z\nresources: {cpu: 0.1, gpu: 1}")
	w.submit("name: asks\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 1}\nchecks: [{name: boss, type: approval}]")
	w.submit("name: again\ncommand: exit 1\nresources: {cpu: 0.1}\nretry: {limit: 9, backoff: 1h, maxBackoff: 1h}")
	w.muster("wait", "again", "--for", "Backoff", "--timeout", "60s")
	const waiting, queued = 7, 3
	g := w.enter(1280, 800)
	rows := func(filter string) string {
		return fmt.Sprintf(`new URLSearchParams(location.search).get('q') === '%s' && document.querySelector('.page-sub')?.innerText`, filter)
	}
	g.visit("workloads?q=status:waiting")
	g.until(rows("status:waiting") + fmt.Sprintf(` === '%d of 8 workloads'`, waiting))
	g.visit("workloads?q=status:queued")
	g.until(rows("status:queued") + fmt.Sprintf(` === '%d of 8 workloads'`, queued))
	g.visit("overview")
	g.until(fmt.Sprintf(`[...document.querySelectorAll('.tile')].find(e => e.innerText.includes('Waiting'))?.querySelector('.tile-value')?.innerText.trim() === '%d'`, waiting))
	g.until(fmt.Sprintf(`[...document.querySelectorAll('.card')].find(e => e.innerText.startsWith('Waiting workloads'))?.querySelector('.card-aside')?.innerText.match(/\d+/)?.[0] === '%d'`, waiting))
	g.visit("queue")
	g.until(fmt.Sprintf(`document.querySelector('.page-sub')?.innerText.startsWith('%d workloads waiting')`, waiting))
	g.until(fmt.Sprintf(`document.querySelectorAll('.queue-table tbody tr').length === %d`, waiting))
	g.until(fmt.Sprintf(`document.querySelector('.queue-pool')?.innerText.includes('%d workloads queued')`, queued))
	g.visit("projects/default")
	g.until(fmt.Sprintf(`document.querySelector('.page-sub')?.innerText.includes('%d workloads queued')`, queued))
}

// What runs, what it holds and how often it was begun are the same numbers wherever they
// are shown; run time is that of the attempts, without what was waited between them.
func TestNumbersAreTheSameEverywhere(t *testing.T) {
	w := newWorld(t)
	again := filepath.Join(t.TempDir(), "again")
	w.submit("name: six\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 6}")
	w.submit("name: retried\ncommand: sleep 1; test -e " + again + " || { touch " + again + "; exit 1; }\nresources: {cpu: 0.1}\nretry: {limit: 3, backoff: 2s}")
	w.muster("wait", "retried", "--for", "Completed", "--timeout", "120s")
	g := w.enter(1280, 800)
	clean := func(js string) string { return `(` + js + ` ?? '').replace(/\s+/g, ' ').trim()` }
	g.visit("overview")
	tile := func(name string) string {
		return `[...document.querySelectorAll('.tile')].find(e => e.innerText.includes('` + name + `'))?.innerText.replace(/\s+/g, ' ')`
	}
	g.until(tile("GPUs allocated") + `?.includes('6 of 8') && ` + tile("GPUs allocated") + `.includes('2 free')`)
	g.until(tile("Running") + `?.includes('Running 1 ')`)
	g.visit("workloads?q=status:started")
	g.until(`document.querySelector('.page-sub')?.innerText.startsWith('1 of 2 ')`)
	g.visit("map")
	g.until(`document.querySelector('.free-count')?.innerText === '2' && ` + clean(`document.querySelector('.map-legend')?.innerText`) + ` === 'Free 2 Allocated 6'`)
	g.visit("nodes/" + w.node())
	g.until(`document.querySelector('.page-sub')?.innerText.includes('2 free') && [...document.querySelectorAll('.card-aside')].some(e => e.innerText === '6 of 8 allocated')`)
	g.visit("queue")
	g.until(clean(`document.querySelector('.queue-pool')?.innerText`) + `.includes('2 of 8 GPUs free')`)
	// Attempts are counted from 0, as in the API, on the command line and for the task.
	var of api.Workload
	if err := json.Unmarshal([]byte(w.muster("get", "retried", "-o", "json")), &of); err != nil {
		t.Fatal(err)
	}
	if of.Attempt != 1 || len(of.Attempts) != 2 {
		t.Fatalf("attempt %d of %d", of.Attempt, len(of.Attempts))
	}
	var ran, wall time.Duration
	for _, a := range of.Attempts {
		ran += time.Time(*a.EndedAt).Sub(time.Time(*a.RunningAt))
	}
	wall = time.Time(*of.EndedAt).Sub(time.Time(*of.Attempts[0].RunningAt))
	if wall-ran < 2*time.Second {
		t.Fatalf("it ran %s of %s", ran, wall)
	}
	g.visit("workloads")
	const list = `[...document.querySelectorAll('tbody tr')].find(e => e.innerText.includes('retried'))`
	var inList, onPage string
	g.until(list + `?.querySelector('[data-column=ran]')?.innerText`)
	g.must(g.Eval(list+`.querySelector('[data-column=ran]').innerText`, &inList))
	g.visit("workloads/default/retried")
	const facts = `[...document.querySelectorAll('dt')].find(e => e.innerText === 'Run time')?.nextElementSibling?.innerText`
	g.until(facts)
	g.must(g.Eval(facts, &onPage))
	if said, err := time.ParseDuration(strings.ReplaceAll(onPage, " ", "")); err != nil || inList != onPage || (said-ran).Abs() > time.Second {
		t.Errorf("it ran %s, says its page, %s, says the list; all attempts together %s (%v)", onPage, inList, ran, err)
	}
	g.visit("workloads/default/retried?tab=attempts")
	g.until(`[...document.querySelectorAll('.gantt ~ * tbody tr, table tbody tr')].map(e => e.children[0].innerText.trim()).filter(x => /^\d+$/.test(x)).sort().join() === '0,1'`)
	g.visit("workloads/default/retried?tab=logs&attempt=1")
	g.until(`[...document.querySelectorAll('select')].some(e => /\b1\b/.test(e.selectedOptions[0]?.innerText))`)
}

// What a limit of its project never allows is said to be blocked, and no start is
// promised of it.
func TestWhatNeverStartsIsBlocked(t *testing.T) {
	w := newWorld(t)
	w.muster("project", "create", "nlp", "--limit", "gpu=4")
	w.submit("name: toobig\nproject: nlp\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 6}")
	g := w.enter(1280, 800)
	g.visit("workloads")
	g.until(row("toobig") + `.includes('Blocked')`)
	g.visit("queue")
	g.until(`document.querySelector('.queue-table tbody tr td:nth-child(5)')?.innerText.trim() === 'never'`)
	g.visit("workloads/nlp/toobig")
	g.until(`document.querySelector('.pending .never')?.innerText.includes('Never starts as it is')`)
	g.until(`document.querySelector('h1').parentElement.innerText.includes('Blocked')`)
	g.until(`!document.querySelector('.expect') && !document.querySelector('main').innerText.includes('Nobody can tell')`)
}
