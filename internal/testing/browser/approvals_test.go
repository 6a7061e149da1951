package browser_test

import (
	"strings"
	"testing"
)

func init() {
	screens = append(screens,
		screen{name: "approvals", path: "approvals", ready: `document.querySelectorAll('.ask').length === 3`},
		screen{name: "approvals-reject", path: "approvals", ready: `document.querySelectorAll('.ask').length === 3`, then: func(g *page) {
			g.click(".ask .danger")
			g.until(`document.querySelector('dialog[open]')`)
		}},
	)
	populated = append(populated, func(w *world) {
		w.submit(`{name: weights-release, command: "python3 export.py --to public", resources: {cpu: 0.05, gpu: 1}, checks: [{name: legal, type: approval, timeout: 30m}, {name: release, type: approval, users: [grace, ada]}]}`)
		w.submit(`{name: full-cluster, kind: distributed, workers: 8, command: "torchrun train.py", resources: {cpu: 0.05, gpu: 1}, checks: [{name: budget-owner, type: approval}]}`)
	})
}

// What one may decide another may not: the button says why, and the server keeps
// to it.
func TestApprovingIsForWhoMay(t *testing.T) {
	w := newWorld(t, "--listen", "127.0.0.1:0")
	w.submit(`{name: guarded, command: "sleep 1000", resources: {cpu: 0.1}, checks: [{name: legal, type: approval, users: [token]}]}`)
	button := `[...document.querySelectorAll('.ask button')].find(b => b.innerText === 'Approve')`
	mine := w.enter(1280, 800)
	mine.visit("approvals")
	mine.until(button + `?.getAttribute('aria-disabled') === 'true' && ` + button + `.title.includes('Only token')`)
	mine.must(mine.Eval(button+`.click()`, nil))
	var status int
	mine.must(mine.Eval(`fetch('../v1/projects/default/workloads/guarded:approve', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{}'}).then(r => r.status)`, &status))
	if status != 403 {
		t.Errorf("the server answers %d to who may not", status)
	}
	theirs := w.enterByToken(1280, 800)
	theirs.visit("approvals")
	theirs.until(button + ` && !` + button + `.getAttribute('aria-disabled')`)
	theirs.clickText(".ask button", "Approve")
	theirs.clickText("dialog button", "Approve")
	mine.until(`document.querySelectorAll('.ask').length === 0 && !document.querySelector('dialog[open]')`)
	theirs.visit("workloads")
	theirs.until(row("guarded") + `.includes('Running')`)
}

func TestApprovingAndRejecting(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.visit("approvals")
	g.shows("No decisions for you")
	w.submit(`{name: wanted, command: "sleep 1000", resources: {cpu: 0.1}, checks: [{name: legal, type: approval}]}`)
	w.submit(`{name: unwanted, command: "true", resources: {cpu: 0.1}, checks: [{name: legal, type: approval}]}`)
	w.submit(`{name: foreign, command: "true", resources: {cpu: 0.1}, checks: [{name: ethics, type: approval, users: [somebody-else]}]}`)
	g.until(`document.querySelectorAll('.ask').length === 3`) // nobody reloads
	g.until(`[...document.querySelectorAll('.ask')].find(e => e.innerText.includes('foreign')).querySelector('button').title.includes('Only somebody-else')`)
	ask := func(name, button string) {
		t.Helper()
		g.must(g.Eval(`[...[...document.querySelectorAll('.ask')].find(e => e.querySelector('h2').innerText.startsWith('`+name+`')).querySelectorAll('button')].find(b => b.innerText === '`+button+`').click()`, nil))
		g.until(`document.activeElement.id === 'why'`)
	}
	ask("wanted", "Approve")
	g.write("ticket 4711")
	g.clickText("dialog button", "Approve")
	g.until(`document.querySelectorAll('.ask').length === 2 && !document.querySelector('dialog[open]')`)
	ask("unwanted", "Reject")
	g.write("not now")
	g.clickText("dialog button", "Reject")
	g.until(`document.querySelectorAll('.ask').length === 1`)
	if out := w.muster("describe", "wanted"); !strings.Contains(out, "ticket 4711") {
		t.Errorf("the message is lost:\n%s", out)
	}
	g.visit("workloads")
	g.until(row("wanted") + `.includes('Running') && ` + row("unwanted") + `.includes('Failed') || ` + row("unwanted") + `.includes('Canceled')`)
}

// Two have to approve: the page says who has, and why one may not do so twice.
func TestApprovingTogether(t *testing.T) {
	w := newWorld(t, "--listen", "127.0.0.1:0")
	mine, theirs := w.enter(1280, 800), w.enterByToken(1280, 800)
	mine.visit("approvals")
	theirs.visit("approvals")
	var me string
	mine.must(mine.Eval(`fetch('../v1/session').then(r => r.json()).then(s => s.user)`, &me))
	w.muster("check", "create", "big", "--system", "--type", "approval", "--approvals", "2", "--user", "token", "--user", me)
	w.submit(`{name: together, command: "sleep 1000", resources: {cpu: 0.1}}`)
	button := `[...document.querySelectorAll('.ask button')].find(b => b.innerText === 'Approve')`
	mine.until(button + ` && !` + button + `.getAttribute('aria-disabled') && document.querySelector('.ask').innerText.includes('0 of 2')`)
	mine.clickText(".ask button", "Approve")
	mine.clickText("dialog button", "Approve")
	mine.until(button + `?.getAttribute('aria-disabled') === 'true' && ` + button + `.title.includes('has approved check big already') && document.querySelector('.ask').innerText.includes('1 of 2 ` + me + `')`)
	theirs.until(button + ` && !` + button + `.getAttribute('aria-disabled') && document.querySelector('.ask').innerText.includes('1 of 2')`)
	theirs.clickText(".ask button", "Approve")
	theirs.clickText("dialog button", "Approve")
	mine.until(`document.querySelectorAll('.ask').length === 0`)
	mine.visit("workloads")
	mine.until(row("together") + `.includes('Running')`)
}
