package browser_test

import (
	"path/filepath"
	"testing"
)

// What is shown is of now or says that it is not, and times are those of whoever
// looks.
func TestWhatIsOldSaysSo(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: steady, resources: {cpu: 0.1}, command: "echo here; sleep 1000"}`)
	w.submit(`{name: held, hold: true, command: "true"}`)
	g := w.enter(1280, 800)
	g.must(g.Call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "Asia/Kathmandu"}))
	g.visit("workloads/default/steady?tab=logs")
	g.shows("here")
	g.click(`.toolbar [aria-label="Timestamps"]`)
	// Kathmandu is 5:45 before UTC, in which logs are kept.
	g.until(`(() => { const e = document.querySelector('.log-time'); if (!e) return false
		const minutes = ([h, m]) => 60 * h + +m
		return (minutes(e.innerText.split(':')) - minutes(e.dateTime.slice(11).split(':')) + 1440) % 1440 === 345 && e.title.endsWith(e.dateTime.slice(0, 19) + 'Z') })()`)
	g.visit("workloads/default/held")
	g.until(`/held by .* since (\w+ \w+ )?\d\d:\d\d:\d\d/.test(document.querySelector('.reason')?.innerText) && !/\dZ/.test(document.querySelector('.reason').innerText)`)
	g.visit("workloads/default/steady?tab=logs")
	g.until(`document.querySelector('.log-foot')?.innerText.includes('live')`)
	w.stop()
	g.until(`/No connection to the server since \d\d:\d\d:\d\d/.test(document.querySelector('.notice.lost')?.innerText)`)
	g.until(`document.querySelector('.log-foot').innerText.includes('disconnected')`)
	// What has become of anything is not known: the badge counts on, ages stand still.
	g.must(g.Eval(`(() => { const seen = new Set(); window.badges = seen; setInterval(() => seen.add(document.querySelector('.nav .live').innerText), 50) })()`, nil))
	g.clickText("[role=tab]", "Overview")
	const ran = `document.querySelector('.lifeline')?.innerText`
	g.until(ran)
	g.must(g.Eval(`window.ran = `+ran, nil))
	g.until(`window.badges.size >= 4`)
	g.until(ran + ` === window.ran`)
	g.clickText("[role=tab]", "Logs")
	w.start()
	g.until(`!document.querySelector('.notice.lost') && document.querySelector('.log-foot').innerText.includes('live')`)
	g.visit("workloads/default/held")
	g.clickText(".reasons button", "Release")
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Completed'`)
}

// A log that is too long to be there at once is read from its beginning.
func TestALogIsReadFromItsBeginning(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: long, resources: {cpu: 0.1}, command: "seq 300000"}`)
	g := w.enter(1280, 800)
	g.until(row("long") + `.includes('Completed')`)
	g.visit("workloads/default/long?tab=logs")
	g.shows("300000")
	g.click(`.toolbar [aria-label="Jump to start"]`)
	g.until(`document.querySelector('.log-line .log-text')?.innerText.trim() === '1' && document.querySelector('.log-link')?.innerText.trim() === '1'`)
	g.clickText("button", "Jump to end")
	g.shows("300000")
	g.press("b")
	g.until(`document.querySelector('.log-line .log-text')?.innerText.trim() === '1'`)
}

// What was written stays where the page is read anew, and can be had back where
// something was put in its place.
func TestADraftIsNotLost(t *testing.T) {
	w := newWorld(t, "--listen", "127.0.0.1:0")
	g := w.enter(1280, 800)
	g.visit("submit")
	g.until(planned)
	g.rewrite("yaml", "name: mine\ncommand: echo mine\n")
	g.until(planned + ` && ` + field("name") + `?.value === 'mine'`)
	g.must(g.Call("Page.reload", map[string]any{}))
	g.until(planned + ` && ` + field("name") + `?.value === 'mine' && ` + yamlText + `.includes('echo mine')`)
	g.rewrite("yaml", "name: mine\ncommand: echo more\n")
	g.click(".presets button")
	g.until(`!` + yamlText + `.includes('mine')`)
	g.clickText(".toasts button", "Undo")
	g.until(planned + ` && ` + yamlText + `.includes('echo more')`)
	// The session ends while somebody writes: who signs in again goes on.
	g.must(g.ForgetCookies())
	g.rewrite("yaml", "name: mine\ncommand: echo later\n")
	g.until(`location.pathname.endsWith('/ui/login') && document.activeElement.id === 'token'`)
	g.write(read(t, w.dir+"/token"))
	g.press("Enter")
	g.until(`location.pathname.endsWith('/ui/submit')`)
	g.until(planned + ` && ` + yamlText + `.includes('echo later')`)
	g.clickText(".page-actions button", "Submit")
	g.until(`document.querySelector('h1')?.innerText === 'mine'`)
	g.visit("submit")
	g.until(planned + ` && !` + yamlText + `.includes('mine')`)
}

// A list says how far an array is, and a restart asks first.
func TestAnArrayInTheList(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.submit(`{name: sweep, resources: {cpu: 0.1}, array: {completions: 4}, command: "case $MUSTER_TASK_INDEX in 0) exit 3;; 1) true;; *) until [ -e ` + dir + `/go ]; do sleep 0.05; done;; esac"}`)
	g := w.enter(1280, 800)
	g.until(row("sweep") + `.includes('50%') && ` + row("sweep") + `.includes('1 failed')`)
	touch(t, dir+"/go")
	g.until(`!` + row("sweep") + `.includes('50%')`)
	g.visit("workloads/default/sweep")
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Failed'`)
	g.clickText(".page-actions button", "Restart")
	g.shows("Restart sweep?")
	g.clickText("dialog button", "Restart")
	g.until(`document.querySelector('.page-sub')?.innerText.includes('attempt 1')`)
}

// A life in which the same came twice says what was between, however short it was.
func TestTheLifelineSaysWhatEndedAnAttempt(t *testing.T) {
	w := newWorld(t)
	again := filepath.Join(t.TempDir(), "again")
	w.submit(`{name: retried, resources: {cpu: 0.1}, retry: {limit: 3, backoff: 10ms}, command: "[ -e ` + again + ` ] || { touch ` + again + `; sleep 1.5; exit 3; }; sleep 1000"}`)
	g := w.enter(390, 844)
	g.visit("workloads/default/retried")
	g.until(`document.querySelector('.page-sub')?.innerText.includes('attempt 1') && document.querySelector('.lifeline [data-here]')?.innerText.startsWith('Running')`)
	g.until(`/Running \d+s\nError\nRunning/.test([...document.querySelectorAll('.lifeline li')].map(e => e.innerText.replace(/\s+/g, ' ').trim()).join('\n'))`)
	// On a phone what runs is told in two columns, the first of them over both.
	g.until(`(b => b.length > 2 && b[0].width > b[1].width * 1.8 && b[1].top === b[2].top)([...document.querySelectorAll('.now-tiles > *')].map(e => e.getBoundingClientRect()))`)
}

// Who is back in the queue is told why at the head of the page, once.
func TestWhyItIsBackInTheQueue(t *testing.T) {
	w := newWorld(t, "--fake-gpus", "2")
	w.submit(`{name: low, priority: low, resources: {gpu: 2, cpu: 0.1}, command: "sleep 1000"}`)
	w.muster("wait", "low", "--for", "Running", "--timeout", "50s")
	w.submit(`{name: high, priority: very-high, resources: {gpu: 2, cpu: 0.1}, command: "sleep 1000"}`)
	w.submit(`{name: held, hold: true, command: "true"}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/low")
	g.until(`document.querySelector('.message')?.innerText === 'Preempted high of project default has a higher priority'`)
	g.visit("workloads/default/held")
	g.until(`document.querySelector('.reason') && !document.querySelector('.message')`)
}
