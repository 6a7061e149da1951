package browser_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/browser"
)

// Assets are made on a page, chosen by name in the form, and what was made of
// them stays when they go.
func TestAssets(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.visit("settings?tab=templates")
	g.clickText(".tabs a", "Assets")
	for _, a := range []struct{ word, name, document string }{
		{"environment", "shell", "command: [\"sh\", \"-c\", \"echo made of $WHO\"]\nenv:\n  WHO: shell\n"},
		{"compute resource", "tiny", "resources:\n  cpu: 0.05\n"},
		{"data source", "tmp", "volumes:\n  - hostPath: /tmp\n    path: /tmp\n"},
	} {
		g.clickUntil("button", "New "+a.word, `document.querySelector('dialog[open]')`) // a notice may lie over it for a while
		g.input("name", a.name)
		if a.word == "compute resource" { // what is wrong is said where it is
			g.input("document", "image: nothing\n")
			g.clickText("dialog button", "Create")
			g.until(`document.querySelector('dialog').innerText.includes('no part of a compute resource')`)
		}
		g.input("document", a.document)
		g.clickText("dialog button", "Create")
		g.until(`document.querySelector('[aria-label="` + a.word + `s"]')?.innerText.includes('` + a.name + `') && !document.querySelector('dialog[open]')`)
	}
	g.clickUntil("button", "New data volume", `document.querySelector('dialog[open]')`)
	g.input("name", "corpus")
	g.input("project", "-")
	g.input("sharedWith", "default")
	g.input("document", "volumes:\n  - hostPath: /tmp\n    path: /tmp\n")
	g.clickText("dialog button", "Create")
	g.until(`document.querySelector('[aria-label="data volumes"]')?.innerText.includes('all projects')`)

	g.visit("submit")
	g.until(planned)
	choose := func(title, option string) {
		t.Helper()
		g.until(`[...document.querySelectorAll('.submit-bar .pick')].some(e => e.innerText.startsWith('` + title + `'))`)
		g.must(g.Eval(`(() => { const e = [...document.querySelectorAll('.submit-bar .pick')].find(e => e.innerText.startsWith('`+title+`')).querySelector('select'); e.value = [...e.options].find(o => o.text.startsWith('`+option+`')).value; e.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	}
	g.rewrite("yaml", "name: chosen\n")
	g.until(yamlText + `.includes('name: chosen')`)
	choose("Environment", "shell")
	g.until(yamlText + `.includes('environment: shell')`)
	choose("Compute resource", "tiny")
	g.until(yamlText + `.includes('compute: tiny')`)
	choose("Data", "tmp")
	g.until(yamlText + `.includes('data:')`)
	choose("Data", "corpus") // the same place: it is said where
	g.until(`document.querySelector('[data-group~="data"] summary .field-bad')?.innerText.includes('1 invalid')`)
	g.must(g.Eval(`document.querySelector('[data-group~="data"]').open = true`, nil))
	g.until(`document.querySelector('[data-group~="data"]').innerText.includes(` + browser.Quote("ata volume corpus@1 lies at /tmp") + `)`)
	g.rewrite("yaml", "name: chosen\nenvironment: shell\ncompute: tinny\ndata: [tmp]\n")
	g.until(`document.querySelector('[data-path="compute"] .field-bad')?.innerText.includes('did you mean tiny?')`)
	g.must(g.Eval(`(() => { const e = `+field("compute")+`; e.value = 'tiny'; e.dispatchEvent(new Event('input', {bubbles: true})) })()`, nil))
	g.until(planned)
	g.until(yamlText + `.includes('compute: tiny')`)
	g.clickText(".page-actions button", "Submit")
	g.until(`location.pathname.endsWith('/ui/workloads/default/chosen')`) // it was taken
	w.muster("wait", "chosen", "--timeout", "60s")
	if out := w.muster("logs", "chosen"); !strings.Contains(out, "made of shell") {
		t.Errorf("it printed %q", out)
	}
	if out := w.muster("describe", "chosen"); !strings.Contains(out, "environment shell@1 · compute tiny@1 · data tmp@1") {
		t.Errorf("it does not say of what it was made:\n%s", out)
	}
	g.visit("settings?tab=templates")
	g.until(`document.querySelector('[aria-label="Delete tiny"]')`)
	g.click(`[aria-label="Delete tiny"]`)
	g.clickText("dialog button", "Delete")
	g.until(`document.body.innerText.includes('None of this kind yet: compute resource')`)
	if out := w.muster("restart", "chosen", "--wait"); strings.Contains(out, "error") {
		t.Errorf("it does not run again: %s", out)
	}
}
