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

// What was deleted, and a quota that was changed, is as it was once that is undone.
func TestDeletingAndQuotasAreUndone(t *testing.T) {
	w := newWorld(t)
	w.muster("notifications", "add", "pager", "--webhook", "http://127.0.0.1:1/hook", "--on", "Failed", "--label", "team=vision")
	w.muster("template", "create", "base", "--description", "to begin with", "--cpu", "2")
	w.muster("project", "create", "vision", "--quota", "gpu=3")
	g := w.enter(1280, 800)
	had := func(path, what string) (text string) {
		t.Helper()
		g.must(g.Eval(`fetch('/`+path+`').then(r => r.json()).then(x => JSON.stringify(`+what+`))`, &text))
		return text
	}
	undone := func(path, what, had, gone string) {
		t.Helper()
		g.must(g.UntilPromised(`fetch('/` + path + `').then(r => r.json()).then(x => ` + gone + `)`))
		g.clickText(".toasts button", "Undo")
		g.must(g.UntilPromised(`fetch('/` + path + `').then(r => r.json()).then(x => JSON.stringify(` + what + `) === ` + quoted(had) + `)`))
	}
	const sub = `x.items.map(n => [n.name, n.webhook, n.on, n.labels])`
	before := had("v1/notifications", sub)
	g.visit("settings?tab=notifications")
	g.click(`button[aria-label="Delete pager"]`)
	g.clickText("dialog button", "Delete")
	undone("v1/notifications", sub, before, "x.items.length === 0")
	g.until(`document.querySelector('button[aria-label="Delete pager"]')`)
	const kept = `x.items.map(t => [t.name, t.description, t.document])`
	before = had("v1/projects/default/templates", kept)
	g.visit("settings?tab=templates")
	g.click(`button[aria-label="Delete base"]`)
	g.clickText("dialog button", "Delete")
	undone("v1/projects/default/templates", kept, before, "x.items.length === 0")
	const quota = `[x.pools['*'].gpu.quota, x.pools['*'].gpu.limit ?? null]`
	before = had("v1/projects/vision", quota)
	g.visit("projects/vision")
	g.until(`document.querySelector('.if-form input')`)
	g.must(g.Eval(`(() => { const e = [...document.querySelectorAll('.if-form input[type=text]')]; e[0].value = '1'; e[0].dispatchEvent(new Event('input', {bubbles: true})) })()`, nil))
	g.clickText("button", "Apply")
	g.clickText("dialog button", "Change")
	undone("v1/projects/vision", quota, before, "x.pools['*'].gpu.quota === 1")
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
