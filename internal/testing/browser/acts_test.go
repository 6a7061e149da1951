package browser_test

import (
	"os"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/browser"
)

// input fills a field of a dialog, by its label.
func (g *page) input(label, value string) {
	g.t.Helper()
	find := `[...document.querySelectorAll('dialog label')].find(l => l.innerText.trim() === ` + browser.Quote(label) + `)`
	g.until(find)
	g.must(g.Eval(`(() => { const e = document.getElementById(`+find+`.htmlFor); e.focus(); e.value = `+browser.Quote(value)+`; e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true})) })()`, nil))
}

// refusedFor is why an item of the open menu cannot be chosen; empty: it can.
func (g *page) refusedFor(item string) string {
	g.t.Helper()
	find := `[...document.querySelectorAll('.menu button')].find(b => b.innerText.trim() === ` + browser.Quote(item) + `)`
	g.until(find)
	var why string
	g.must(g.Eval(find+`.title`, &why))
	return why
}

// Everything that the API lets people do with a workload is in its menu, or says
// there why it is not possible now.
func TestActsOfAWorkload(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: blocker, command: "sleep 1000", resources: {gpu: 8, cpu: 0.1}}`)
	w.submit(`{name: waits, command: "sleep 1000", resources: {gpu: 2, cpu: 0.1}}`)
	g := w.enter(1280, 800)
	phase := func(p string) {
		t.Helper()
		g.until(`document.querySelector('.page-sub .status')?.innerText.startsWith('` + p + `')`)
	}
	more := func() { t.Helper(); g.click(`.page-actions [aria-label="More"]`) }
	g.visit("workloads/default/waits")
	phase("Queued")

	more()
	if why := g.refusedFor("Release"); why != "It is not held" {
		t.Errorf("release: %q", why)
	}
	if why := g.refusedFor("Edit and restart"); why != "A workload in phase Queued cannot be restarted with another document" {
		t.Errorf("revise: %q", why)
	}
	g.clickText(".menu button", "Hold")
	phase("Inadmissible")
	more()
	g.clickText(".menu button", "Release")
	phase("Queued")

	more()
	g.clickText(".menu button", "Priority and limits")
	g.input("priority", "low")
	g.input("time limit", "2h")
	g.clickText("dialog button", "Copy as")
	g.until(`[...document.querySelectorAll('dialog pre')].some(e => e.innerText.includes('muster update waits --priority low --max-duration 2h'))`)
	g.click(`.copyas [aria-label="Close"]`)
	g.clickText("dialog button", "Change")
	g.until(`!document.querySelector('dialog[open]')`)
	g.until(`document.querySelector('.overview')?.innerText.includes('2h')`)

	g.visit("workloads/default/blocker")
	phase("Running")
	more()
	g.clickText(".menu button", "Preempt")
	g.clickText("dialog button", "Preempt")
	g.until(`document.querySelector('.page-sub')?.innerText.includes('attempt 1')`)
	phase("Running")
	w.muster("stop", "blocker", "--yes")
	g.visit("workloads/default/waits")
	phase("Running")

	// What has ended runs again as it is written now.
	g.clickText(".page-actions button", "Stop")
	g.clickText("dialog button", "Stop")
	phase("Stopped")
	more()
	g.clickText(".menu button", "Edit and restart")
	g.until(planned + ` && document.querySelector('h1').innerText === 'Edit waits'`)
	g.must(g.Eval(`(() => { const e = document.getElementById('yaml'); e.value = e.value.replace('sleep 1000', 'echo another; sleep 1000'); e.dispatchEvent(new Event('input', {bubbles: true})) })()`, nil))
	g.until(planned)
	g.clickText(".page-actions button", "Restart")
	phase("Running")
	g.until(`document.querySelector('.command')?.innerText.includes('echo another')`)
}

// A service is scaled, and gets another document while it serves.
func TestActsOfAService(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: chat, kind: inference, command: "python3 -m http.server $PORT", ports: [8000], replicas: 1, resources: {cpu: 0.1}}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/chat")
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Running'`)
	g.click(`.page-actions [aria-label="More"]`)
	g.clickText(".menu button", "Scale")
	g.input("replicas", "two")
	g.until(`[...document.querySelectorAll('dialog button')].some(b => b.title === 'A number from 0 to 1000')`)
	g.input("replicas", "2")
	g.clickText("dialog button", "Scale")
	g.until(`document.querySelector('.facts') && document.body.innerText.includes('of 2')`)
	g.click(`.page-actions [aria-label="More"]`)
	g.clickText(".menu button", "Edit and update")
	g.until(planned + ` && document.querySelector('h1').innerText === 'Edit chat'`)
	g.must(g.Eval(`(() => { const e = document.getElementById('yaml'); e.value = e.value.replace('http.server', 'http.server --bind 0.0.0.0'); e.dispatchEvent(new Event('input', {bubbles: true})) })()`, nil))
	g.until(planned)
	g.clickText(".page-actions button", "Update")
	g.until(`document.querySelector('.command')?.innerText.includes('--bind')`)
}

// Several are changed at once; who cannot be is left out and counted.
func TestActsOfSeveral(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: blocker, command: "sleep 1000", resources: {gpu: 8, cpu: 0.1}}`)
	w.submit(`{name: one, command: "sleep 1000", resources: {gpu: 2, cpu: 0.1}}`)
	w.submit(`{name: two, command: "sleep 1000", resources: {gpu: 2, cpu: 0.1}}`)
	g := w.enter(1280, 800)
	g.until(row("blocker") + `.includes('Running')`)
	g.until(row("two") + `.includes('Queued')`)
	g.click(`thead input[type="checkbox"]`)
	g.until(`document.querySelector('.bulk-count')?.innerText === '3 workloads selected'`)
	g.click(`.bulk [aria-label^="More"]`)
	if why := g.refusedFor("Release"); why != "None of them can be released" {
		t.Errorf("release: %q", why)
	}
	g.clickText(".menu button", "Hold 2")
	g.until(row("one") + `.includes('Inadmissible')`)
	g.until(row("two") + `.includes('Inadmissible')`)
	g.click(`thead input[type="checkbox"]`)
	g.click(`.bulk [aria-label^="More"]`)
	g.clickText(".menu button", "Priority and limits")
	g.until(`document.querySelector('dialog h2')?.innerText === 'Priority and limits of 3 workloads'`)
	g.input("priority", "very-high")
	g.clickText("dialog button", "Change")
	g.until(`!document.querySelector('dialog[open]') && document.querySelector('.toasts').innerText.includes('Changed 3 workloads')`)
}

// What is worth keeping is kept, and others begin with it.
func TestTemplates(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: sweep, command: "echo sweeping", resources: {cpu: 0.1}, labels: {team: vision}}`)
	w.muster("wait", "sweep", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.visit("workloads/default/sweep")
	g.click(`.page-actions [aria-label="More"]`)
	g.clickText(".menu button", "Save as template")
	g.until(`document.querySelector('dialog textarea')?.value.includes('echo sweeping')`)
	g.input("description", "the usual sweep")
	g.clickText("dialog button", "Create")
	g.until(`document.querySelector('.toasts').innerText.includes('Saved sweep, version 1')`)

	g.visit("settings?tab=templates")
	g.clickText("button", "New environment")
	g.input("name", "small")
	g.input("document", "env:\n  SHELL_OF: small\n")
	g.clickText("dialog button", "Create")
	g.until(`document.querySelector('[aria-label="environments"]')?.innerText.includes('small')`)
	g.click(`[aria-label="Edit sweep"]`)
	g.input("environment", "small")
	g.input("document", "command: [")
	g.clickText("dialog button", "Save")
	g.until(`document.querySelector('dialog .field-bad')`)
	g.input("document", "command: echo swept\nresources:\n  cpu: 0.1\n")
	g.clickText("dialog button", "Save")
	g.until(`document.querySelector('[aria-label="templates"] tbody')?.innerText.includes('small')`)

	g.click(`[aria-label="Use sweep"]`)
	g.until(yamlText + `.includes('echo swept') && ` + yamlText + `.includes('SHELL_OF: small')`)
	g.visit("submit")
	g.until(planned)
	g.must(g.Eval(`(() => { const e = [...document.querySelectorAll('.submit-bar select')].find(e => e.parentElement.innerText.startsWith('Environment')); e.value = '0'; e.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.until(yamlText + `.includes('environment: small')`)

	g.visit("settings?tab=templates")
	g.click(`[aria-label="Delete sweep"]`)
	g.clickText("dialog button", "Delete")
	g.until(`document.body.innerText.includes('None of this kind yet: template')`)
}

// Projects and departments are made, moved and deleted.
func TestProjectsAreMade(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.visit("projects")
	for _, p := range [][2]string{{"research", "department"}, {"vision", "project"}} {
		g.clickText(".page-actions button", "New project")
		g.input("name", p[0])
		g.input("kind", p[1])
		g.clickText("dialog button", "Create")
		g.until(`document.querySelector('h1').innerText === '` + p[0] + `'`)
		g.visit("projects")
	}
	g.until(`document.querySelector('[data-name="vision"]')`)
	g.visit("projects/vision")
	g.click(`.page-actions [aria-label="More"]`)
	g.clickText(".menu button", "Edit or move")
	g.input("parent", "research")
	g.input("priority", "many")
	g.until(`[...document.querySelectorAll('dialog button')].some(b => b.title.includes('whole numbers'))`)
	g.input("priority", "200")
	g.clickText("dialog button", "Save")
	g.until(`document.querySelector('.crumbs').innerText.includes('research')`)
	g.until(`document.querySelector('.page').innerText.includes('200: resources above')`)

	g.visit("projects/research")
	g.click(`.page-actions [aria-label="More"]`)
	if why := g.refusedFor("Delete"); why != "It contains projects" {
		t.Errorf("delete: %q", why)
	}
	g.visit("projects/vision")
	g.click(`.page-actions [aria-label="More"]`)
	g.clickText(".menu button", "Delete")
	g.clickText("dialog button", "Delete")
	g.until(`document.querySelector('[data-name="research"]') && !document.querySelector('[data-name="vision"]')`)
}

func TestLabelsAndTaintsOfANode(t *testing.T) {
	w := newWorld(t)
	w.muster("node", "label", w.node(), "rack=r6", "old=yes")
	w.muster("node", "taint", w.node(), "upkeep=fan:PreferNoSchedule")
	g := w.enter(1280, 800)
	g.visit("nodes/" + w.node())
	g.until(`[...document.querySelectorAll('.label')].some(e => e.innerText === 'rack=r6')`)
	g.clickText("button", "Labels and taints")
	var labels string
	g.until(`document.querySelector('dialog textarea')?.value`)
	g.must(g.Eval(`document.querySelector('dialog textarea').value`, &labels))
	g.input("labels", strings.NewReplacer("rack=r6", "rack=r7", "old=yes", "").Replace(labels))
	g.input("taints", "upkeep=fan")
	g.until(`[...document.querySelectorAll('dialog button')].some(b => b.title === 'upkeep=fan: not of the form KEY[=VALUE]:EFFECT')`)
	g.input("taints", "upkeep=power:PreferNoSchedule\nslow:PreferNoSchedule")
	g.clickText("dialog button", "Copy as")
	g.until(`[...document.querySelectorAll('dialog pre')].some(e => e.innerText.includes('rack=r7 old-') && e.innerText.includes('upkeep=power:PreferNoSchedule slow:PreferNoSchedule'))`)
	g.click(`.copyas [aria-label="Close"]`)
	g.clickText("dialog button", "Save")
	const marks = `[...document.querySelectorAll('.label')].map(e => e.innerText).join()`
	g.until(marks + `.includes('upkeep=power:PreferNoSchedule') && ` + marks + `.includes('slow:PreferNoSchedule') && ` + marks + `.includes('rack=r7') && !` + marks + `.includes('old=')`)
}

// The page of what waits says when it is expected and what would help, and the
// document with that change is one click away.
func TestAQueuedWorkloadsOwnPageSaysWhatWouldHelp(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: blocker, command: "sleep 1000", maxDuration: 2h, preemptible: false, resources: {gpu: 6, cpu: 0.1}}`)
	w.muster("wait", "blocker", "--for", "Running", "--timeout", "60s")
	w.submit(`{name: waits, command: "sleep 1000", resources: {gpu: 4, cpu: 0.1}}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/waits")
	g.until(`document.querySelector('.pending .expect-when')`)
	if dir := os.Getenv("MUSTER_UI_SHOTS"); dir != "" {
		g.must(g.Screenshot(dir + "/queued.png"))
	}
	g.click(`.pending [aria-label="Copy and edit with this: --gpus 2"]`)
	g.until(planned + ` && ` + yamlText + `.includes('name: waits-2') && ` + yamlText + `.includes('gpu: 2')`)
	g.until(`document.querySelector('.headline').innerText === 'Starts at once'`)
}
