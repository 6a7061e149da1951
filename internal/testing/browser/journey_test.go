package browser_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
)

func TestAWorkloadIsSeenFromSubmissionToItsEnd(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.shows("No workloads yet")
	release := t.TempDir() + "/go"
	w.submit(`{name: seen, resources: {gpu: 1}, command: "echo the first line; until [ -e ` + release + ` ]; do sleep 0.05; done; echo the last line"}`)
	g.until(row("seen") + `.includes('Running')`) // nobody reloads
	g.click(".row-link")
	g.until(`document.querySelector('h1').innerText === 'seen' && document.querySelector('.page-sub .status').innerText === 'Running'`)
	g.clickText(".tabs a", "Logs")
	g.shows("the first line")
	touch(t, release)
	g.shows("the last line") // it is followed
	g.until(`document.querySelector('.page-sub .status').innerText === 'Completed'`)
	g.clickText(".tabs a", "Events")
	g.until(`document.querySelectorAll('.events tbody tr').length >= 5`)
	g.clickText(".tabs a", "Spec")
	g.shows("name: seen")
}

func TestStoppingAsksFirst(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: long, command: "sleep 1000"}`)
	g := w.enter(1280, 800)
	g.until(row("long") + `.includes('Running')`)
	g.visit("workloads/default/long")
	g.clickText("button", "Stop")
	g.shows("Stop long?")
	g.until(`document.activeElement.innerText === 'Cancel'`) // what is pressed by mistake does no harm
	g.clickText("dialog button", "Cancel")
	g.until(`!document.querySelector('dialog[open]')`)
	if out := w.muster("get", "long", "-o", "json"); !strings.Contains(out, `"phase": "Running"`) && !strings.Contains(out, `"phase":"Running"`) {
		t.Fatalf("Cancel stopped it: %s", out)
	}
	g.clickText("button", "Stop")
	g.clickText("dialog button", "Stop")
	g.until(`document.querySelector('.page-sub .status').innerText === 'Stopped'`)
	g.until(`[...document.querySelectorAll('.page-actions button')].some(b => b.innerText === 'Restart')`)
}

func TestOnlyTheKeyboard(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: alpha, command: "true"}`)
	w.submit(`{name: beta, command: "echo out of beta"}`)
	g := w.enter(1280, 800)
	g.until(row("alpha") + `.includes('Completed') && ` + row("beta") + `.includes('Completed')`)
	g.press("/")
	g.until(`document.activeElement.getAttribute('aria-label') === 'Filter'`)
	g.write("name:beta")
	g.press("Enter", "Escape")
	g.until(`document.querySelectorAll('tbody tr').length === 1 && location.search.includes('q=name:beta')`)
	g.press("Escape") // leaves the field
	for wrong, said := range map[string]string{
		"staus:failed": "did you mean status?", "status:complted": "did you mean Completed?", "age<2x": "takes a duration", "gpus>=many": "takes a number",
	} {
		g.visit("workloads?q=" + url.QueryEscape(wrong))
		g.shows(said)
	}
	g.visit("workloads?q=name:beta")
	g.until(`document.querySelectorAll('tbody tr').length === 1 && !document.querySelector('.filter-trouble')`)
	g.click(`[aria-label="Views"]`)
	g.clickText(".menu button", "Save this view")
	g.until(`document.activeElement.matches('dialog input')`) // and not the button that closes it
	g.press("Escape")
	g.until(`!document.querySelector('dialog[open]') && document.activeElement.getAttribute('aria-label') === 'Views'`)
	g.must(g.Eval(`document.activeElement.blur()`, nil))
	g.press("j", "Enter")
	g.until(`document.querySelector('h1').innerText === 'beta'`)
	g.press("l")
	g.shows("out of beta")
	g.press("g", "w")
	g.until(`document.querySelector('h1').innerText === 'Workloads'`)
	g.press("?")
	g.shows("Filter")
	g.press("Escape")
	g.press("Control+k")
	g.until(`document.activeElement.getAttribute('aria-label') === 'Find'`)
	g.write("alph")
	g.press("Enter")
	g.until(`document.querySelector('h1').innerText === 'alpha'`)
	g.press("Control+k")
	g.until(`document.activeElement.getAttribute('aria-label') === 'Find'`)
	g.write("theme dark")
	g.press("Enter")
	g.until(`document.documentElement.dataset.theme === 'dark'`)
	g.visit("workloads")
	g.until(`document.documentElement.dataset.theme === 'dark' && getComputedStyle(document.body).colorScheme !== 'light'`)
}

// What workloads write and are called is text, whatever it looks like.
func TestNothingOfAWorkloadIsMarkup(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: wild, command: ["sh", "-c", "printf '<script>window.hacked=1</script><img src=x onerror=window.hacked=1>\\n\\033[31mred\\033[0m \\033]0;title\\007\\033[2Jcleared \\a\\b\\n\\033[38;5;208morange\\033[0m\\n'; exit 3"]}`)
	g := w.enter(1280, 800)
	g.until(row("wild") + `.includes('Failed')`)
	g.visit("workloads/default/wild")
	g.shows("<img src=x onerror=window.hacked=1>") // of the command
	g.clickText(".tabs a", "Logs")
	g.shows("<script>window.hacked=1</script>")
	g.until(`document.querySelector('.log .fg-red')?.innerText === 'red' && document.querySelector('.log .fg-yellow')?.innerText === 'orange'`) // what of 256 colors is nearest
	g.until(`[...document.querySelectorAll('.log-text')].some(e => e.innerText.trim() === 'red cleared')`)
	g.until(`window.hacked === undefined && document.title === 'wild · Muster'`)
}

func TestWhoeverIsLoggedOutComesBackToWhereTheyWere(t *testing.T) {
	w := newWorld(t, "--listen", "127.0.0.1:0")
	w.submit(`{name: here, command: "true"}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/here?tab=events")
	g.must(g.ForgetCookies())
	g.must(g.Open(w.url + "/ui/workloads/default/here?tab=events"))
	g.until(`location.pathname.endsWith('/ui/login')`)
	g.shows("Sign in to Muster")
	g.until(`document.activeElement.id === 'token'`)
	g.write("not the token of anybody, but long enough")
	g.press("Enter")
	g.shows("The code or the token is not valid")
	g.must(g.Eval(`document.getElementById('token').value = ''`, nil))
	g.click("#token")
	g.write(read(t, w.dir+"/token"))
	g.press("Enter")
	g.until(`location.pathname.endsWith('/ui/workloads/default/here') && location.search === '?tab=events'`)
	g.shows("Submitted")
}

func TestAServerThatWasRestartedIsFoundAgain(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	g.until(`document.querySelector('.nav .live').dataset.state === 'live'`)
	w.stop()
	g.until(`document.querySelector('.nav .live').dataset.state === 'stale'`)
	w.start()
	w.submit(`{name: after, command: "true"}`)
	g.until(`document.querySelector('.nav .live').dataset.state === 'live'`) // the cookie outlives the server
	g.until(row("after") + `.includes('Completed')`)
}

func TestWorkloadsAreChosenAndStoppedTogether(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"one", "two", "three"} {
		w.submit(`{name: ` + name + `, command: "sleep 1000", resources: {cpu: 0.1}}`)
	}
	g := w.enter(1280, 800)
	g.until(`[...document.querySelectorAll('tbody tr')].filter(r => r.innerText.includes('Running')).length === 3`)
	g.click(`thead input`)
	g.shows("3 workloads selected")
	g.clickText(".bulk button", "Stop")
	g.shows("Stop 3 workloads?")
	g.clickText("dialog button", "Stop")
	g.until(`[...document.querySelectorAll('tbody tr')].filter(r => r.innerText.includes('Stopped')).length === 3`)
	g.until(`!document.querySelector('.bulk')`)
	g.clickText(".presets button", "Active")
	g.shows("No workload matches the filter")
}

// What stands in the address is no part of a shell command but its argument.
func TestCommandsAreQuoted(t *testing.T) {
	w := newWorld(t)
	g := w.enter(1280, 800)
	said := func(path string) (text string) {
		t.Helper()
		g.visit(path)
		g.clickText(".page-actions button", "Copy as")
		g.until(`document.querySelector('dialog pre')`)
		g.must(g.Eval(`document.querySelector('dialog pre').innerText`, &text))
		return text
	}
	said(`workloads?q=-status:failed gpus>=8`)
	for language, want := range map[string]string{"Python": `client.workloads(filter="-status:failed gpus>=8")`, "curl": `workloads?filter=-status%3Afailed+gpus%3E%3D8&view=summary`} {
		g.clickText("dialog button", language)
		g.until(`document.querySelector('dialog pre').innerText.includes(` + browser.Quote(want) + `)`)
	}
	for path, want := range map[string]string{
		`workloads?q=user:"$(touch x)"`:       `--filter 'user:"$(touch x)"'`,
		`workloads?q=-status:failed gpus>=8`:  `muster get --all --filter '-status:failed gpus>=8' --limit 0`,
		`workloads?q=label.a:"'; touch x; '"`: `--filter 'label.a:"'\''; touch x; '\''"'`,
		`usage?project=$(touch x)`:            `-p '$(touch x)'`,
	} {
		if text := said(path); !strings.Contains(text, want) {
			t.Errorf("%s is %s, not with %s", path, text, want)
		}
	}
}

// A dialog that is longer than the window is scrolled within, to its buttons.
func TestDialogsFitIntoShortWindows(t *testing.T) {
	w := newWorldInWhole(t)
	g := w.enter(1280, 800)
	long := "command: |\n" + strings.Repeat("  echo one line more\n", 60)
	for _, height := range []int{300, 420, 800} {
		g.must(g.Resize(1280, height))
		g.visit("submit")
		g.until(planned)
		g.rewrite("yaml", long)
		g.until(planned)
		g.clickText(".page-actions button", "Copy as")
		g.until(`document.querySelector('dialog[open]')`)
		var bottom float64
		g.must(g.Eval(`document.querySelector('dialog[open]').getBoundingClientRect().bottom`, &bottom))
		if int(bottom) > height {
			t.Errorf("in a window of %d pixels the dialog ends at %.0f", height, bottom)
		}
		g.until(`document.querySelector('dialog pre').clientHeight > 200`) // nothing of it is squeezed
		g.clickText("dialog button", "Copy")                               // at its end, which is scrolled to
		g.shows("Copied")
	}
}

// What was deleted while the list was still being read does not come back with a
// page that was read before; and who looks is asked again where nobody answered.
func TestDeletedWorkloadsStayDeleted(t *testing.T) {
	w := newWorld(t)
	docs := make([]map[string]any, 130) // more than the first page has
	for i := range docs {
		docs[i] = map[string]any{"name": fmt.Sprintf("old-%03d", i), "command": "true", "resources": map[string]any{"cpu": 0.1}, "checks": []any{map[string]any{"name": "x", "type": "approval"}}}
	}
	w.bulk(docs)
	g := w.enter(1280, 800)
	g.must(g.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{
		const ask = fetch, free = new Promise(done => window.free = done)
		let asked = 0
		window.fetch = async (url, o) => {
			if (url.endsWith('/v1/session') && asked++ === 0) throw new TypeError('the network is away')
			const r = await ask(url, o)
			if (url.includes('cursor=')) { window.held = true; await free }
			return r
		}
	}`}))
	g.visit("workloads")
	g.until(`window.held`)
	w.muster("delete", "old-000", "--yes")
	w.submit(`{name: later, command: "true", resources: {cpu: 0.1}}`)
	g.until(row("later"))
	g.must(g.Eval(`window.free()`, nil))
	g.until(`document.querySelector('.page-sub').innerText.trim() === '130 workloads'`)
	g.visit("workloads?q=old-00")
	g.must(g.Eval(`window.free()`, nil))
	g.until(`document.querySelector('.page-sub').innerText.startsWith('9 of 130')`)
	g.until(`document.querySelector('.nav-user')`)
}

// A column that is chosen is seen, and of one that is not it is said why.
func TestChosenColumnsAreSeen(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: first, command: "exit 3", retry: {limit: 0}, resources: {cpu: 0.1}}`)
	w.muster("wait", "first", "--for", "Failed", "--timeout", "60s")
	w.submit(`{name: second, command: "sleep 1000", resources: {cpu: 0.1}}`)
	g := w.enter(1280, 800)
	g.until(row("second") + `.includes('Running')`)
	heads := `[...document.querySelectorAll('thead th')].map(e => e.innerText).join()`
	note := func(column string) string {
		return `([...document.querySelectorAll('.menu button')].find(b => b.innerText.startsWith(` + browser.Quote(column) + `))?.querySelector('.menu-note')?.innerText ?? '')`
	}
	g.until(`!` + heads + `.includes('Project') && !` + heads + `.includes('User') && ` + heads + `.includes('Why')`)
	g.click(`[aria-label="Columns"]`)
	g.until(note("User") + ` === 'same for all rows' && ` + note("Why") + ` === '' && ` + note("Exit code") + ` === ''`)
	for _, column := range []string{"Kind", "Priority", "Tasks", "Exit code", "Ended", "Number"} {
		g.clickText(".menu button", column)
		g.until(heads + `.includes(` + browser.Quote(column) + `)`)
	}
	g.until(`[...document.querySelectorAll('tbody td[data-column=exit]')].some(e => e.innerText === '3')`)
	g.until(note("Nodes") + ` === 'no room' && !` + heads + `.includes('Nodes')`)
	g.press("Escape")
	g.clickText(".presets button", "Failed in 24 h")
	g.until(`document.querySelectorAll('tbody tr').length === 1 && ` + row("first"))
	g.clickText(".presets button", "Idle GPUs")
	g.shows("No workload matches the filter")
	g.clickText(".presets button", "Idle GPUs")
	g.until(row("second"))
	g.visit("queue")
	g.press("g", "r")
	g.until(`document.querySelector('h1').innerText === 'Workloads'`)
}

// What happened to attempts is marked and said, with who it was for; a segment
// leads to the log of its time.
func TestMarksOfAttempts(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: gives-way, priority: low, resources: {cpu: 0.1, gpu: 8}, command: "echo what it said; sleep 1000"}`)
	w.muster("wait", "gives-way", "--for", "Running", "--timeout", "60s")
	for begun := time.Now(); !strings.Contains(w.muster("logs", "gives-way"), "what it said"); time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > browser.Patience {
			t.Fatal("it says nothing")
		}
	}
	w.submit(`{name: urgent, priority: high, preemptible: false, resources: {cpu: 0.1, gpu: 8}, command: "sleep 1000"}`)
	w.muster("wait", "urgent", "--for", "Running", "--timeout", "60s")
	w.muster("hold", "gives-way")
	w.muster("release", "gives-way")
	w.muster("update", "gives-way", "--priority", "55")
	g := w.enter(1280, 800)
	g.visit("workloads/default/gives-way")
	marked := func(text string) string {
		return `[...document.querySelectorAll('.gantt-marks li')].some(e => e.innerText.includes(` + browser.Quote(text) + `))`
	}
	g.until(marked("Preempted: urgent of project default has a higher priority") + ` && ` + marked("Held by ") + ` && ` + marked("Released by "))
	g.until(`document.querySelector('.gantt').innerText.includes('→ 55')`)
	g.until(`document.querySelectorAll('.milestone[data-kind=user]').length > 2 && document.querySelector('svg [data-kind=preempted]')`)
	g.must(g.Eval(`[...document.querySelectorAll('.bit[data-log]')].find(e => e.textContent.startsWith('Running')).dispatchEvent(new MouseEvent('click', {bubbles: true}))`, nil))
	g.until(`location.search.includes('when=') && document.querySelector('.log-line[data-marked]')?.innerText.includes('what it said')`)
	g.must(g.Eval(`history.back()`, nil))
	g.clickUntil(".gantt-marks a", "Show urgent", `document.querySelector('h1').innerText === 'urgent'`)
}
