package browser_test

import (
	"strings"
	"testing"
)

func init() {
	screens = append(screens, screen{name: "schedules", path: "schedules", ready: `document.querySelectorAll('tbody tr').length === 2`})
	populated = append(populated, func(w *world) {
		w.muster("schedule", "create", "nightly-report", "--cron", "0 2 * * mon-fri", "--time-zone", "Europe/Berlin", "--description", "figures of the day", "--", "true")
		w.muster("schedule", "create", "weekly-retraining", "--cron", "@weekly", "--suspended", "--", "true")
	})
}

// scheduleRows is what the table says.
const scheduleRows = `(document.querySelector("tbody")?.innerText ?? "")`

func TestSchedulesAreRunAndSuspended(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.visit("schedules")
	g.shows("No schedules")
	w.muster("schedule", "create", "yearly", "--cron", "@yearly", "--", "sleep", "1000")
	g.visit("overview")
	g.visit("schedules")
	g.until(scheduleRows + `.includes('@yearly')`)
	g.clickText("tbody button", "Run now")
	g.until(scheduleRows + `.includes('Running')`) // nobody reloads
	g.clickText("tbody button", "Suspend")
	g.until(scheduleRows + `.includes('Suspended')`)
	if out := w.muster("schedule", "describe", "yearly"); !strings.Contains(out, "suspended") || !strings.Contains(out, "asked for") {
		t.Errorf("it is described as\n%s", out)
	}
	g.clickText("tbody button", "Resume")
	g.until(`!` + scheduleRows + `.includes('Suspended')`)
	g.until(`[...document.querySelectorAll('.toast')].pop()?.innerText.includes('esumed')`)
	g.clickText(".toast button", "Undo")
	g.until(scheduleRows + `.includes('Suspended')`)
}
