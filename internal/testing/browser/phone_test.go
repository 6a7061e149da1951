package browser_test

import "testing"

// On a phone, in the language with the longest words, the queue says why, events
// say what became of it, and projects how many wait, all without scrolling sideways.
func TestAPhoneInGerman(t *testing.T) {
	w := newWorld(t)
	w.submit("name: blocker\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 8}\nmaxDuration: 40h\npreemptible: false")
	w.submit("name: queued-with-a-long-name\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 8}\nmaxDuration: 20h")
	w.submit("name: next\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 8}\nmaxDuration: 20h")
	w.submit("name: held\ncommand: sleep 1000\nhold: true\nresources: {cpu: 0.1, gpu: 1}")
	w.muster("project", "create", "nlp", "--quota", "gpu=4", "--limit", "gpu=5.35")
	g := w.enter(380, 800)
	g.until(`localStorage.setItem('muster.language', '"de"') === undefined`)
	within := func(selector string) {
		t.Helper()
		g.until(`document.querySelector('` + selector + `') && [...document.querySelectorAll('` + selector + `')].filter(e => e.offsetParent).every(e => { const r = e.getBoundingClientRect(); return r.width > 0 && r.left >= 0 && r.right <= innerWidth && (getComputedStyle(e).overflowX !== 'hidden' || e.scrollWidth <= e.clientWidth + 1) })`)
	}
	g.visit("queue")
	g.until(`document.querySelector('h1').innerText === 'Warteschlange'`)
	within(".queue-below")
	g.until(`document.querySelector('.queue-below').innerText.includes('waits for gpu')`)
	g.until(`[...document.querySelectorAll('.queue-below')].some(e => e.innerText.includes('is held by') && !e.innerText.includes('Z'))`)
	g.until(`document.querySelectorAll('.queue-table .start small').length > 1`)
	within(".queue-table .start small")
	within(".queue-place")
	g.visit("settings?tab=events")
	within("table.admin-events .status")
	within("table.admin-events .why-cell")
	g.visit("projects")
	within("table.tree td")
	g.until(`[...document.querySelectorAll("table.tree td.end")].every(e => e.getBoundingClientRect().right <= e.closest("table").parentElement.getBoundingClientRect().right)`)
	g.until(`document.scrollingElement.scrollWidth <= innerWidth`)
}
