package browser_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/browser"
)

// What waits for an approval is approved and rejected where that is said: on its page,
// beside the queue, and by the palette.
func TestApprovingWhereTheReasonStands(t *testing.T) {
	w := newWorld(t)
	for _, n := range []string{"first", "second", "third"} {
		w.submit(`{name: ` + n + `, command: "sleep 1000", resources: {cpu: 0.1}, checks: [{name: legal, type: approval}]}`)
	}
	g := w.enter(1280, 800)
	g.visit("workloads/default/first")
	g.clickText(".reasons button", "Approve")
	g.until(`document.activeElement.tagName === 'TEXTAREA'`)
	g.write("ticket 12")
	g.clickText("dialog button", "Approve")
	g.until(`document.querySelector('.page-sub .status')?.innerText.includes('Running') && !document.querySelector('dialog[open]')`)
	if out := w.muster("describe", "first"); !strings.Contains(out, "ticket 12") {
		t.Errorf("the reason is not kept: %s", out)
	}
	g.visit("queue?why=default/second")
	g.clickText(".blockers button", "Reject")
	g.until(`document.querySelector('dialog[open]')?.innerText.includes('ends the workload')`)
	g.clickText("dialog button", "Reject")
	w.muster("wait", "second", "--for", "Failed", "--timeout", "60s")
	g.visit("workloads/default/third")
	g.press("Control+k")
	g.until(`document.activeElement.matches('.palette-field input')`) // which is what letters go to
	g.write("approve")
	g.until(`document.querySelector('.palette-list li[aria-selected="true"]')?.innerText.startsWith('Approve')`)
	g.press("Enter")
	g.until(`document.querySelector('dialog textarea')`)
	g.clickText("dialog button", "Approve")
	g.until(`document.querySelector('.page-sub .status')?.innerText.includes('Running')`)
}

// What was done by mistake is undone from the message that says it was done.
func TestWhatCanBeUndoneIs(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: big, command: "sleep 1000", resources: {gpu: 8, cpu: 0.1}}`)
	w.submit(`{name: waits, command: "sleep 1000", resources: {gpu: 8, cpu: 0.1}, priority: low}`)
	w.muster("wait", "waits", "--for", "Queued", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.visit("workloads/default/waits")
	state := func(want string) {
		t.Helper()
		g.until(`document.querySelector('.page-sub .status')?.innerText.includes('` + want + `')`)
	}
	undo := func() {
		t.Helper()
		g.until(`document.querySelectorAll('.toast button').length > 1`)
		g.clickText(".toast button", "Undo")
	}
	g.click(`button[aria-label="More"]`)
	g.clickText(".menu button", "Hold")
	g.until(`document.querySelector('.reasons')?.innerText.includes('Held')`)
	undo()
	g.until(`document.querySelector('.reasons') && !document.querySelector('.reasons').innerText.includes('Held')`)
	state("Queued")
	g.click(`button[aria-label="More"]`)
	g.clickText(".menu button", "Priority and limits")
	g.until(`document.querySelector('dialog select')`)
	g.must(g.Eval(`(() => { const e = document.querySelector('dialog select'); e.value = 'train'; e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.clickText("dialog button", "Change")
	g.until(`!document.querySelector('dialog[open]')`)
	priority := func(want string) {
		t.Helper()
		w.muster("wait", "waits", "--for", "Queued", "--timeout", "60s")
		g.until(`[...document.querySelectorAll('dd')].some(e => e.innerText.startsWith('` + want + `,') || e.innerText.startsWith('` + want + ` '))`)
	}
	priority("50")
	undo()
	priority("40")
	node := w.node()
	g.visit("nodes/" + node)
	g.clickText("button", "Cordon")
	g.until(`document.querySelector('.toast') || document.querySelector('dialog[open]')`)
	var asks bool
	if g.must(g.Eval(`Boolean(document.querySelector('dialog[open]'))`, &asks)); asks {
		g.clickText("dialog button", "Cordon")
	}
	g.until(`[...document.querySelectorAll('button')].some(b => b.innerText === 'Uncordon')`)
	undo()
	g.until(`[...document.querySelectorAll('button')].some(b => b.innerText === 'Cordon')`)
}

// Of several checks that wait for a person the one that is meant is named.
func TestApprovingOneOfSeveralChecks(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: both, command: "sleep 1000", resources: {cpu: 0.1}, checks: [{name: legal, type: approval}, {name: safety, type: approval}]}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/both")
	g.clickText(".reasons button", "Approve")
	g.until(`document.querySelectorAll('dialog select option').length === 2`)
	g.must(g.Eval(`(() => { const e = document.querySelector('dialog select'); e.value = 'safety'; e.dispatchEvent(new Event('input', {bubbles: true})); e.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.clickText("dialog button", "Approve")
	g.shows("Approved both")
	g.until(`!document.querySelector('dialog[open]')`)
	g.clickText(".reasons button", "Approve") // one is left, and is meant
	g.until(`document.querySelector('dialog[open] textarea') && !document.querySelector('dialog select')`)
	g.clickText("dialog button", "Approve")
	g.until(`document.querySelector('.page-sub .status')?.innerText.includes('Running')`)
}

// What failed on a node that may be at fault is restarted on others.
func TestRestartWithoutABadNode(t *testing.T) {
	f := newFleet(t, hall()...)
	f.submit("Failed", doc{"name": "unlucky", "command": []string{"fake", "run=50ms", "exit=1", "log=RuntimeError: CUDA error: an illegal memory access was encountered"}, "resources": doc{"gpu": 1}})
	g := f.enter(1280, 800)
	g.visit("workloads/default/unlucky")
	g.until(`document.querySelector('.first-error .remedy a')`)
	var node string
	g.must(g.Eval(`document.querySelector('.first-error .remedy a').innerText.replace(/^Restart without /, '')`, &node))
	g.click(`.first-error .remedy a`)
	g.until(planned + ` && ` + yamlText + `.includes('NotIn') && ` + yamlText + `.includes(` + browser.Quote(node) + `)`)
	g.until(`!document.querySelector('.page').innerText.includes('1 problem')`)
}
