package browser_test

import (
	"fmt"
	"testing"
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
