package browser_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/testing/browser"
)

func init() {
	screens = append(screens, screen{name: "settings-limits", path: "settings?tab=limits", ready: `document.querySelectorAll('.rows').length === 2`})
}

// TestBudgetsLimitsAndPricesAreSet sets a budget where one looks at a project, a limit of
// one user, a price, and a secret for all who submit in a project.
func TestBudgetsLimitsAndPricesAreSet(t *testing.T) {
	w := newWorld(t)
	w.muster("department", "create", "research")
	w.muster("project", "create", "vision", "--parent", "research")
	w.muster("budget", "set", "research", "--gpu-hours", "900", "--every", "month")
	g := w.enter(1280, 800)
	inTable := func(text string) {
		t.Helper()
		g.until(`[...document.querySelectorAll('table')].some(e => e.innerText.includes(` + browser.Quote(text) + `))`)
	}
	gone := func(text string) {
		t.Helper()
		g.until(`![...document.querySelectorAll('table')].some(e => e.innerText.includes(` + browser.Quote(text) + `))`)
	}
	said := func(want string, command ...string) {
		t.Helper()
		if out := w.muster(command...); !strings.Contains(out, want) {
			t.Errorf("muster %s does not say %q:\n%s", strings.Join(command, " "), want, out)
		}
	}

	g.visit("projects/vision")
	inTable("900.00") // what is above holds, too
	g.clickText("button", "Set a budget")
	g.input("Amount", "none")
	g.until(`[...document.querySelectorAll('dialog button')].some(e => e.innerText === 'Set a budget' && (e.disabled || e.getAttribute('aria-disabled') === 'true'))`)
	g.input("Amount", "250")
	g.input("Warn at, in percent", "50, 90")
	g.clickText("dialog button", "Set a budget")
	inTable("250.00")
	said(`"warnAt": [`, "budget", "list", "vision", "-o", "json")
	g.click(`[aria-label="Delete Budget 250.00"]`)
	g.clickText("dialog button", "Delete")
	gone("250.00")
	inTable("900.00")

	// Where one submits, what is left stands beside the plan, and what may be more is said.
	w.muster("budget", "set", "vision", "--gpu-hours", "1", "--every", "month")
	g.visit("submit")
	g.rewrite("yaml", "project: vision\ncommand: sleep 1\nmaxDuration: 3h\nresources: {gpu: 1}\n")
	g.shows("1.0 of 1.0 GPU-hours of vision")
	g.shows("900.0 of 900.0 GPU-hours of research")
	g.until(`document.querySelector('.plan-warning')?.innerText.includes('of the budget of vision 1.00 GPU-hours are left')`)

	g.visit("settings?tab=limits")
	g.clickText("button", "Set a user limit")
	g.input("User", "ann")
	g.input("GPUs", "6")
	g.input("Waiting workloads", "40")
	g.clickText("dialog button", "Save")
	inTable("0 / 40")
	said("ann", "user-limit", "list")
	g.click(`[aria-label="Edit ann"]`)
	g.input("GPUs", "7")
	g.clickText("dialog button", "Save")
	inTable("0 / 7")
	inTable("0 / 40")
	g.click(`[aria-label="Delete ann"]`)
	g.clickText("dialog button", "Delete")
	gone("ann")
	g.clickText("button", "Set a price")
	g.input("Per GPU-hour", "2.5")
	g.input("Currency", "EUR")
	g.input("GPU type", "H100")
	g.clickText("dialog button", "Save")
	inTable("2.5 EUR")
	said("H100", "price", "list")

	g.visit("settings?tab=secrets")
	g.clickText("button", "New secret")
	g.input("name", "shared")
	g.input("Belongs to", "vision")
	g.input("variable", "TOKEN")
	g.input("value", "do-not-show-me")
	g.clickText("dialog button", "Create secret")
	inTable("vision")
	said("shared", "secret", "list", "-p", "vision")
	g.click(`[aria-label="Delete shared"]`)
	g.clickText("dialog button", "Delete")
	gone("vision")
}
