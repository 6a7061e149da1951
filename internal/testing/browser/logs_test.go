package browser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
)

func init() {
	screens = append(screens,
		screen{name: "workload-logs-together", path: "workloads/default/llm-pretrain?tab=logs&task=all", ready: `document.querySelectorAll('.log-rank').length > 5`},
		screen{name: "workload-logs-large", path: "workloads/default/llm-pretrain?tab=logs&task=all", ready: `document.querySelectorAll('.log-rank').length > 5`, then: func(g *page) {
			g.press("/")
			g.write("step")
			g.until(`/of \d+$/.test(document.querySelector('.found')?.innerText)`)
		}},
	)
}

// Lines of all ranks stand in the order of time, what all say stands once, and a
// link to a line shows it to whoever opens it.
func TestRanksAreReadTogether(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.submit(`{name: team, kind: distributed, workers: 3, resources: {cpu: 0.05}, command: "echo hello everybody; until [ -e ` + dir + `/$RANK ]; do sleep 0.05; done; echo rank $RANK is done; until [ -e ` + dir + `/end ]; do sleep 0.05; done"}`)
	g := w.enter(1280, 800)
	g.until(row("team") + `.includes('Running')`)
	g.visit("workloads/default/team?tab=logs")
	g.must(g.Eval(`(() => { const s = [...document.querySelectorAll('select')].find(s => [...s.options].some(o => o.value === 'all')); s.value = 'all'; s.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	texts := `[...document.querySelectorAll('.log-line')].map(e => (e.querySelector('.log-rank')?.innerText ?? '') + ': ' + e.querySelector('.log-text').innerText.trim() + (e.querySelector('.log-times')?.innerText ?? '')).join('|')`
	g.until(texts + ` === '0–2: hello everybody×3'`)
	for _, rank := range []string{"2", "0", "1"} {
		touch(t, dir+"/"+rank)
		g.shows("rank " + rank + " is done") // it is followed
	}
	g.until(texts + `.endsWith('2: rank 2 is done|0: rank 0 is done|1: rank 1 is done')`)
	g.click(".log-times")
	g.until(`document.querySelectorAll('.log-line').length === 6`)
	g.must(g.Eval(`[...document.querySelectorAll('.log-line')].find(e => e.innerText.includes('rank 0 is done')).querySelector('.log-link').click()`, nil))
	g.until(`location.search.includes('task=all') && location.search.includes('when=')`)
	var search string
	g.must(g.Eval(`location.search`, &search))
	touch(t, dir+"/end")
	g.visit("workloads/default/team" + search)
	g.until(`document.querySelector('.log-line[data-marked]')?.innerText.includes('rank 0 is done')`)
}

// A search goes over the whole log, of which only what is seen is here.
func TestALogIsSearchedWhole(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: wordy, resources: {cpu: 0.1}, command: "echo the needle at the begin; seq -f 'line %.0f of many that say little' 200000; echo one more needle; seq 20"}`)
	w.muster("wait", "wordy", "--for", "Completed", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.visit("workloads/default/wordy?tab=logs")
	g.until(`document.querySelectorAll('.log-line').length > 20`)
	g.press("/")
	g.write("NEEDLE")
	g.until(`document.querySelector('.found').innerText === '2 of 2' && document.querySelector('.log-line[data-current]')?.innerText.includes('one more needle')`)
	g.press("Enter") // to the other, far before what is loaded
	g.until(`document.querySelector('.found').innerText === '1 of 2' && document.querySelector('.log-line[data-current]')?.innerText.includes('the needle at the begin')`)
	var lines int
	g.must(g.Eval(`Number(document.querySelector('.log-foot').innerText.match(/[\d\u202f]+/)[0].replace('\u202f', ''))`, &lines))
	if lines > 100_000 {
		t.Errorf("%d lines were loaded", lines)
	}
	g.press("Escape")
	g.clickText("button", "Jump to end")
	g.until(`[...document.querySelectorAll('.log-text')].some(e => e.innerText.trim() === '20')`)
}

// Who looks for a line of a log that is still written sees that part of it, once,
// and comes back to the end.
func TestALineIsFoundInALogThatGrows(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.submit(`{name: grows, kind: distributed, workers: 2, resources: {cpu: 0.1}, command: "echo the needle of $RANK; seq -f 'line %.0f that says little' 100000; until [ -e ` + dir + `/go ]; do sleep 0.05; done; echo the newest; sleep 1000"}`)
	g := w.enter(1280, 800)
	g.until(row("grows") + `.includes('Running')`)
	for _, task := range []string{"0", "all"} {
		g.visit("workloads/default/grows?tab=logs&task=" + task)
		g.until(`document.querySelector('.log-foot')?.innerText.includes('live') && document.querySelector('.log-window').innerText.includes('line 100000 ')`)
		g.press("/")
		g.write("needle of 0")
		g.until(`document.querySelector('.found').innerText === '1 of 1' && document.querySelector('.log-line[data-current]')?.innerText.includes('the needle of 0')`)
		time.Sleep(time.Second) // what would spoil it comes a moment later
		var foot string
		g.must(g.Eval(`document.querySelector('.log-foot').innerText`, &foot))
		if !strings.Contains(foot, "part of the log") {
			t.Errorf("task %s: what is shown after a jump is %q", task, foot)
		}
		g.until(`[...document.querySelectorAll('.log-text')].some(e => e.innerText.trim() === 'line 1 that says little')`)
		g.press("Escape")
		g.clickText("button", "Jump to end")
		g.until(`document.querySelector('.log-foot').innerText.includes('live') && document.querySelector('.log-window').innerText.includes('line 100000 ')`)
	}
	touch(t, dir+"/go")
	g.shows("the newest")
	// As one file it is all of both.
	g.must(g.Eval(`URL.createObjectURL = b => { b.text().then(x => window.saved = x.split('\n')); return '' }; HTMLAnchorElement.prototype.click = () => {}`, nil))
	g.click(".toolbar [aria-label=Download]")
	g.until(`window.saved?.length >= 200005 && window.saved.includes('0: the needle of 0') && window.saved.includes('1: the needle of 1') && window.saved.includes('0: line 100000 that says little')`)
}

// A part of a log that was scrolled to its end is followed like any other.
func TestAPartGoesOnAfterARestart(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.submit(`{name: steady, resources: {cpu: 0.1}, command: "echo before; until [ -e ` + dir + `/go ]; do sleep 0.05; done; echo afterwards; sleep 1000"}`)
	g := w.enter(1280, 800)
	g.until(row("steady") + `.includes('Running')`)
	g.visit("workloads/default/steady?tab=logs&line=1")
	g.until(`document.querySelector('.log-line[data-marked]')?.innerText.includes('before') && document.querySelector('.log-foot').innerText.includes('live')`)
	w.stop()
	g.until(`document.querySelector('.nav .live').dataset.state === 'stale'`)
	w.start()
	g.until(`document.querySelector('.nav .live').dataset.state === 'live'`)
	touch(t, dir+"/go")
	g.until(`[...document.querySelectorAll('.log-text')].map(e => e.innerText.trim()).join() === 'before,afterwards' && document.querySelector('.log-foot').innerText.includes('live')`)
}

// A server that is restarted while somebody looks: what is shown says that it is
// old, and goes on when the server is there again.
func TestALogGoesOnAfterARestart(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.submit(`{name: steady, resources: {cpu: 0.1}, command: "echo before; until [ -e ` + dir + `/go ]; do sleep 0.05; done; echo afterwards; sleep 1000"}`)
	g := w.enter(1280, 800)
	g.until(row("steady") + `.includes('Running')`)
	g.visit("workloads/default/steady?tab=logs")
	g.shows("before")
	w.stop()
	g.until(`document.querySelector('.nav .live').dataset.state === 'stale'`)
	g.shows("before")
	touch(t, dir+"/go")
	w.start()
	g.until(`document.querySelector('.nav .live').dataset.state === 'live'`)
	g.until(`[...document.querySelectorAll('.log-text')].filter(e => e.innerText.trim() === 'before').length === 1 && [...document.querySelectorAll('.log-text')].filter(e => e.innerText.trim() === 'afterwards').length === 1`)
	g.clickText("button", "Stop")
	g.clickText("dialog button", "Stop")
	g.until(`document.querySelector('.page-sub .status').innerText === 'Stopped'`)
}

// Who looks at the log of a task that is about to start sees what it writes.
func TestALogThatIsNotThereYet(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: soon, command: "echo here it is; sleep 1000", resources: {cpu: 0.1}}`)
	w.muster("wait", "soon", "--for", "Running", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.must(g.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{
		const ask = fetch
		let asked = 0
		window.fetch = async (url, o) => url.includes('/logs?') && asked++ < 2 ? new Response('{"status": 404, "code": "no_logs", "detail": "the task never started"}', {status: 404, headers: {'Content-Type': 'application/problem+json'}}) : ask(url, o)
	}`}))
	g.visit("workloads/default/soon?tab=logs")
	g.shows("here it is")
}

// What was asked for its output before it began, and has begun and ended once it
// is asked whether it goes on, is looked at once more: it did write something.
func TestALogOfWhatBeganAndEndedBetweenTwoLooks(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: short, kind: distributed, workers: 2, resources: {cpu: 0.05}, command: "echo rank $RANK was here"}`)
	w.muster("wait", "short", "--for", "Completed", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.until(row("short") + `.includes('Completed')`)
	// The first question of each kind is answered as it would have been a moment before.
	g.must(g.Eval(`(() => {
		const real = window.fetch
		window.early = []
		window.fetch = (url, init) => {
			const kind = /\/logs(\/merged)?\?/.exec(url)?.[0]
			if (!kind || early.includes(kind)) return real(url, init)
			early.push(kind)
			return Promise.resolve(new Response(JSON.stringify({status: 404, code: 'no_logs', title: 'Not Found', detail: 'there is no log: the task never started'}), {status: 404, headers: {'Content-Type': 'application/problem+json'}}))
		}
	})()`, nil))
	g.clickText(".row-link", "short")
	g.until(`document.querySelector('.lifeline')`)
	g.press("l")
	lines := `[...document.querySelectorAll('.log-text')].map(e => e.innerText.trim()).sort().join()`
	g.until(lines + ` === 'rank 0 was here' && early.length === 1`)
	g.must(g.Eval(`(() => { const s = [...document.querySelectorAll('select')].find(s => [...s.options].some(o => o.value === 'all')); s.value = 'all'; s.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.until(lines + ` === 'rank 0 was here,rank 1 was here' && early.length === 2`)
}

// A login that ends in mid-view leads to the login and back to the same place.
func TestALoginThatEndsInMidView(t *testing.T) {
	w := newWorld(t, "--listen", "127.0.0.1:0")
	w.submit(`{name: here, command: "echo still here; sleep 1000"}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/here?tab=logs")
	g.shows("still here")
	g.must(g.ForgetCookies())
	g.clickText("button", "Stop")
	g.clickText("dialog button", "Stop")
	g.until(`location.pathname.endsWith('/ui/login')`)
	g.click("#token")
	g.write(read(t, w.dir+"/token"))
	g.press("Enter")
	g.until(`location.pathname.endsWith('/ui/workloads/default/here') && location.search === '?tab=logs'`)
	g.shows("still here")
	if out := w.muster("get", "here", "-o", "json"); !strings.Contains(out, `"Running"`) {
		t.Errorf("who was not logged in stopped it: %s", out)
	}
}

// An array of which the page does not know all tasks: they are counted by the
// server and come as they are looked at.
func TestManyTasksAreLookedAtPageByPage(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: many, array: {completions: 1500, parallelism: 200}, resources: {cpu: 1m}, retry: {limit: 0}, command: "[ $MUSTER_TASK_INDEX != 1203 ]"}`)
	w.reaches("many", "Failed", 10*time.Minute)
	g := w.enter(1280, 800)
	g.until(row("many") + `.match(/Failed|Completed/)`)
	g.visit("workloads/default/many?tab=tasks")
	g.until(`document.querySelectorAll('tbody tr').length > 10 && document.querySelector('.panel').innerText.includes('1 failed')`)
	g.must(g.Eval(`[...document.querySelectorAll('.segments button')].find(b => b.innerText.includes('failed')).click()`, nil))
	g.until(`document.querySelectorAll('tbody .row-link').length === 1 && document.querySelector('tbody .row-link').innerText.includes('1203')`)
	g.click("tbody .row-link")
	g.until(`location.search.includes('task=1203')`)
	g.visit("workloads/default/many?tab=tasks")
	g.until(`document.querySelectorAll('tbody tr').length > 10`)
	for more, begun := false, time.Now(); !more; time.Sleep(100 * time.Millisecond) { // the table listens to keys once it is drawn
		g.press("G")
		g.must(g.Eval(`Number(document.querySelector('table').getAttribute('aria-rowcount')) > 501`, &more))
		if time.Since(begun) > browser.Patience {
			t.Fatal("no more tasks come at the end of the table")
		}
	}
	g.visit("workloads/default/many?tab=tasks&from=1190")
	g.until(`[...document.querySelectorAll('tbody .row-link')].some(e => e.innerText.includes('1203'))`)
}

// What building an image said is read like any other output.
func TestTheLogOfABuild(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: built, resources: {cpu: 0.1}, command: "true", build: {base: "127.0.0.1:9/no-such:1", target: "127.0.0.1:9/x:1"}}`)
	g := w.enter(1280, 800)
	g.until(row("built") + `.includes('Failed')`)
	g.visit("workloads/default/built?tab=logs&task=build")
	g.until(`document.querySelector('.log-line')?.innerText.includes('failed: ') && document.querySelector('.log-foot').innerText.includes('ended')`)
	g.press("/")
	g.write("no-such")
	g.until(`document.querySelector('.found').innerText === '1 of 1' && document.querySelector('.log-line[data-current]')`)
}
