package browser_test

import (
	"fmt"
	"strings"
	"testing"
)

// A browser whose clock is wrong shows ages by the server's.
func TestABrowserWithAWrongClock(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: long, command: "sleep 1000", maxDuration: 3h, preemptible: false, resources: {gpu: 8, cpu: 0.1}}`)
	w.muster("wait", "long", "--for", "Running", "--timeout", "60s")
	w.submit(`{name: waits, command: "sleep 1000", resources: {gpu: 2, cpu: 0.1}}`)
	for _, hours := range []int{-2, 2} {
		g := w.newPage(1400, 800)
		g.must(g.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": fmt.Sprintf(`(() => {
			const Real = Date, off = %d * 3600e3
			globalThis.Date = class extends Real { constructor(...a) { a.length ? super(...a) : super(Real.now() + off) } static now() { return Real.now() + off } }
		})()`, hours)}))
		link := w.link()
		w.url = link[:strings.Index(link, "/ui/")]
		g.must(g.Open(link))
		// Of minutes at most: neither hours ago nor yet to come.
		recent := func(js string) { t.Helper(); g.until(`/^(now|\d+[sm]( \d+s)?)$/.test(` + js + `)`) }
		cell := func(name, column string) string {
			return `([...document.querySelectorAll('tbody tr')].find(r => r.querySelector('.row-link')?.innerText === '` + name + `')?.querySelector('td[data-column="` + column + `"]')?.innerText.trim() ?? '')`
		}
		g.until(row("waits") + `.includes('Queued')`)
		recent(cell("long", "age"))
		recent(cell("long", "ran"))
		g.until(cell("waits", "where") + `.match(/~.*\d\d:\d\d/)`) // what holds its GPUs runs for nearly three hours at most
		g.visit("workloads/default/long")
		g.until(`/Submitted\s+(now|\d+[sm]) ago/.test(document.querySelector('.facts')?.innerText)`)
		g.until(`/Run time\s+\d+[sm]/.test(document.querySelector('.facts')?.innerText)`)
		g.until(`[...document.querySelectorAll('.gantt .mark text')].some(e => /^\+\d/.test(e.textContent)) && ![...document.querySelectorAll('.gantt .mark text')].some(e => /^\+\d+d/.test(e.textContent))`)
		g.visit("workloads/default/waits")
		g.until(`/in 2h \d+m/.test(document.querySelector('.expect-when')?.innerText)`)
	}
}
