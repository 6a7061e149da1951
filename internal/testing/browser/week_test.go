package browser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
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
	w := newWorld(t, "--sample-every", "1s")
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
	w.muster("project", "create", "other")
	g.visit("reports/week?week=" + thisWeek() + "&project=other")
	g.until(`document.querySelector('.week .empty') && document.querySelector('.page-sub').innerText.includes('other')`)
}
