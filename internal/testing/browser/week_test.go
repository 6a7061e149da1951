package browser_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
	"github.com/musterhq/muster/internal/testing/postbox"
)

func init() {
	screens = append(screens, screen{name: "week", path: "reports/week?week=" + thisWeek(), ready: `document.querySelectorAll('.week-figures div').length >= 5`})
}

// thisWeek is the name of the present week.
func thisWeek() string {
	year, week := time.Now().ISOWeek()
	return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006-W") + string(rune('0'+week/10)) + string(rune('0'+week%10))
}

// A week says what ran, what waited and why, of all and of one project; on paper it is
// alone. The command says the same.
func TestAWeekIsToldAndPrinted(t *testing.T) {
	box := postbox.New(t)
	w := newWorld(t, "--sample-every", "1s", "--smtp-server", box.At, "--smtp-from", "muster@example.com")
	w.submit(`{name: done, resources: {gpu: 1}, command: "sleep 0.3"}`)
	w.muster("wait", "done", "--for", "Completed")
	w.submit(`{name: holder, resources: {gpu: 8}, command: "sleep 1000"}`)
	w.muster("wait", "holder", "--for", "Running")
	w.submit(`{name: waits, resources: {gpu: 8}, command: "true"}`)
	for deadline := time.Now().Add(browser.Patience); ; time.Sleep(50 * time.Millisecond) {
		if told := w.muster("report", "--week=this"); strings.Contains(told, "WaitingForCapacity") && strings.Contains(told, "default/holder") {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the week is told as\n%s", told)
		}
	}
	g := w.enter(1280, 800)
	g.visit("reports")
	g.clickText("a", "Weekly report")
	g.until(`document.querySelector('.week .empty')`) // of last week
	g.clickText("button", "Next week")
	g.until(`document.querySelector('.week-bars')?.innerText.includes('WaitingForCapacity') && document.querySelector('.week').innerText.includes('default/holder')`)
	g.until(`new URLSearchParams(location.search).get('week') === ` + browser.Quote(thisWeek()))
	g.must(g.Call("Emulation.setEmulatedMedia", map[string]any{"media": "print"}))
	g.until(`getComputedStyle(document.querySelector('.nav')).display === 'none' && getComputedStyle(document.querySelector('.page-actions')).display === 'none'`)
	g.until(`getComputedStyle(document.querySelector('.page')).overflowY === 'visible' && document.querySelector('.week-bars').getBoundingClientRect().height > 0`)
	g.must(g.Call("Emulation.setEmulatedMedia", map[string]any{"media": ""}))
	mailsTheWeek(g, box)
	printsTheWeek(g)
	w.muster("project", "create", "other")
	g.visit("reports/week?week=" + thisWeek() + "&project=other")
	g.until(`document.querySelector('.week .empty') && document.querySelector('.page-sub').innerText.includes('other')`)
}

// mailsTheWeek mails the report at once, and each Monday until that is ended; ending it
// can be undone.
func mailsTheWeek(g *page, box *postbox.Box) {
	g.t.Helper()
	g.clickText(".page-actions button", "Mail…")
	g.until(`document.activeElement.matches('dialog input')`)
	g.write("nowhere")
	g.clickText("dialog button", "Mail")
	g.until(`document.querySelector('dialog .field-bad')?.innerText.includes('is not an address')`)
	g.must(g.Eval(`document.activeElement.matches('dialog input') || document.querySelector('dialog input').focus(); document.querySelector('dialog input').select()`, nil))
	g.write("team@example.com")
	g.clickText("dialog button", "Mail")
	g.shows("Mailed to team@example.com")
	if l := box.Letters(); len(l) != 1 || l[0].To != "team@example.com" || !strings.Contains(l[0].Parts["text/html"], "default/holder") || !strings.Contains(l[0].Subject, thisWeek()) {
		g.t.Fatalf("mailed: %+v", l)
	}
	g.until(`!document.querySelector('dialog')`)
	g.clickText(".page-actions button", "Mail…")
	g.until(`document.activeElement.matches('dialog input')`)
	g.write("lab@example.com")
	g.must(g.Eval(`(() => { const e = document.querySelector('dialog select'); e.value = 'mondays'; e.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.clickText("dialog button", "Mail")
	const listed = `document.querySelector('.week-mailed')?.innerText.includes('lab@example.com')`
	g.until(listed)
	g.must(g.Eval(`document.querySelector('.week-mailed button[aria-label="Delete lab@example.com"]').click()`, nil)) // a message may lie over it
	g.until(`!` + listed + ` && [...document.querySelectorAll('.toast')].some(e => e.innerText.startsWith('No longer mailed'))`)
	g.must(g.Eval(`[...document.querySelectorAll('.toast')].find(e => e.innerText.startsWith('No longer mailed')).querySelector('button').click()`, nil))
	g.until(listed)
}

// printsTheWeek has the browser make a PDF of it, as people do.
func printsTheWeek(g *page) {
	g.t.Helper()
	pdf, err := g.PDF()
	g.must(err)
	if n := bytes.Count(pdf, []byte("/Type /Page\n")); n < 1 || n > 2 {
		g.t.Errorf("one week is %d pages", n)
	}
	if file := os.Getenv("MUSTER_UI_SHOTS"); file != "" {
		g.must(os.WriteFile(filepath.Join(file, "week.pdf"), pdf, 0o600))
	}
}
