package browser_test

import (
	"strings"
	"testing"
)

// organise makes departments and projects with quotas, and more work than there
// are GPUs: vision borrows, language lends and waits, and so does recsys.
func organise(w *world) {
	w.t.Helper()
	w.muster("department", "create", "research", "--quota", "gpu=7")
	w.muster("department", "create", "product", "--quota", "gpu=1", "--limit", "gpu=4")
	w.muster("project", "create", "vision", "--parent", "research", "--quota", "gpu=3", "--limit", "gpu=6", "--reclaim-min-runtime", "2h")
	w.muster("project", "create", "language", "--parent", "research", "--quota", "gpu=4")
	w.muster("project", "create", "recsys", "--parent", "product", "--quota", "gpu=1")
	run := func(project, doc string) {
		w.submit(`{project: ` + project + `, resources: {cpu: 0.05, gpu: 1}, ` + doc)
	}
	for _, doc := range []string{
		`name: segment-anything, kind: distributed, workers: 3, maxDuration: 2h, command: "sleep 3000"}`,
		`name: depth-v3, kind: distributed, workers: 2, maxDuration: 90m, command: "sleep 3000"}`,
	} {
		run("vision", doc)
	}
	for name, project := range map[string]string{"segment-anything": "vision", "depth-v3": "vision"} {
		w.muster("wait", name, "-p", project, "--for", "Running", "--timeout", "60s")
	}
	w.muster("budget", "set", "vision", "--gpu-hours", "5000", "--every", "month")
	run("language", `name: llm-7b, kind: distributed, workers: 2, maxDuration: 1h, command: "`+ranks+`"}`)
	w.muster("wait", "llm-7b", "-p", "language", "--for", "Running", "--timeout", "60s")
	run("recsys", `name: ranker, maxDuration: 40m, command: "sleep 3000"}`)
	w.muster("wait", "ranker", "-p", "recsys", "--for", "Running", "--timeout", "60s")
	run("language", `name: pretrain-13b, kind: distributed, workers: 6, maxDuration: 3h, command: "sleep 3000"}`)
	run("language", `name: eval-suite, maxDuration: 20m, priority: low, command: "sleep 3000"}`)
	run("vision", `name: ablation-a, maxDuration: 1h, command: "sleep 3000"}`)
	run("recsys", `name: two-tower, kind: distributed, workers: 2, priority: high, maxDuration: 1h, command: "sleep 3000"}`)
}

// ranks does little as rank 1, and something as all others, without keeping the
// machine busy.
const ranks = `if [ \"$RANK\" = 1 ]; then sleep 3000; fi; while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.03; done`

var organised = []screen{
	{name: "queue", path: "queue", ready: `document.querySelectorAll('.queue-name').length >= 3 && document.querySelectorAll('.queue-pool').length > 0`},
	{name: "queue-why", path: "queue?why=language/pretrain-13b", ready: `document.querySelector('.blocker') && document.querySelector('.expect, .offers') && document.querySelector('.numbers')`},
	{name: "projects", path: "projects", ready: `document.querySelectorAll('.tree tbody tr').length >= 6 && document.querySelectorAll('.tree .quota-bar').length >= 5`},
	{name: "project", path: "projects/vision", ready: `document.querySelector('.stand .quota-bar') && document.querySelector('.if-form input')`},
	{name: "project-whatif", path: "projects/language", ready: `document.querySelector('.if-form input')`, then: func(g *page) {
		g.fill(`.if-form input[aria-label^="Guaranteed"]`, "7")
		g.clickText("button", "Simulate")
		g.until(`document.querySelector('.if-out .shifts')`)
		g.must(g.Eval(`document.querySelector('.if-form').scrollIntoView()`, nil))
	}},
	{name: "reports", path: "reports?by=project", ready: `document.querySelectorAll('.reports-table').length === 2 && document.querySelectorAll('.reports-table tbody tr').length >= 4 && document.querySelector('.reports-table tfoot')`},
	{name: "usage", path: "usage?period=24h", ready: `document.querySelectorAll('.used-table tbody tr').length >= 2 && document.querySelector('.plot .block')`},
	{name: "usage-workloads", path: "usage?by=workload&period=24h", ready: `document.querySelectorAll('.used-table tbody tr').length >= 3`},
	{name: "usage-none", path: "usage?project=default", ready: `document.body.innerText.includes('No GPU time was charged')`},
	{name: "usage-who", path: "usage?by=user&period=24h&columns=who", ready: `document.querySelector('.plot .block[data-l="0"]')`},
	{name: "workloads-columns", path: "workloads?columns=status,project,gpus,ran,hours,use,age", ready: `document.querySelectorAll('tbody tr').length > 4 && (innerWidth < 600 || document.querySelectorAll('.spark').length > 2 && [...document.querySelectorAll('td[data-column=hours]')].some(e => /\d/.test(e.innerText)))`},
	{name: "workload-metrics", path: "workloads/language/llm-7b?tab=metrics", ready: `document.querySelector('.slowest') && document.querySelectorAll('.plot .line').length > 4`},
	{name: "workload-compare", path: "workloads/vision/again?tab=diff", ready: `document.querySelector('.diff-table tr[data-other]')`},
	{name: "workload-compare-two", path: "workloads/vision/again?tab=diff&with=vision/segment-anything", ready: `document.querySelector('.diff-table tr[data-other]')`},
	{name: "workload-compare-one", path: "workloads/recsys/ranker?tab=diff", ready: `document.body.innerText.includes('Only one attempt')`},
}

// fill puts text in the place of what a field holds.
func (g *page) fill(selector, text string) {
	g.t.Helper()
	g.click(selector)
	g.must(g.Eval(`document.querySelector('`+selector+`').select()`, nil))
	g.write(text)
}

// failTwice submits a workload that fails, is changed, runs again and fails
// otherwise.
func failTwice(w *world, project string) {
	w.t.Helper()
	w.submit(`{name: again, project: ` + project + `, resources: {cpu: 0.05}, retry: {limit: 1, backoff: 5m}, command: ["sh", "-c", "exit $((3 + MUSTER_ATTEMPT))"]}`)
	w.muster("wait", "again", "-p", project, "--for", "Backoff", "--timeout", "60s")
	w.muster("update", "again", "-p", project, "--priority", "high")
	w.muster("stop", "again", "-p", project, "--yes", "--wait")
	w.muster("restart", "again", "-p", project)
	w.muster("wait", "again", "-p", project, "--for", "Backoff", "--timeout", "60s")
}

func TestScreensOfQueueProjectsAndUsage(t *testing.T) {
	w := newWorld(t, "--sample-every", "1s")
	organise(w)
	failTwice(w, "vision")
	lookAt(t, w.enter, organised)
}

func TestFindingWhyItWaits(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: holder, preemptible: false, kind: distributed, workers: 6, resources: {cpu: 0.05, gpu: 1}, maxDuration: 2h, command: "sleep 3000"}`)
	w.muster("wait", "holder", "--for", "Running", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.shows("holder") // keys are heard from then on
	g.press("g", "q")
	g.shows("Nothing is waiting")
	g.shows("2 of 8 GPUs free")
	w.submit(`{name: big, kind: distributed, workers: 4, resources: {cpu: 0.05, gpu: 1}, maxDuration: 1h, command: "sleep 3000"}`)
	w.submit(`{name: bigger, kind: distributed, workers: 5, resources: {cpu: 0.05, gpu: 1}, command: "sleep 3000"}`)
	at := func(name string) string {
		return `(document.querySelector('tr[data-name="` + name + `"]')?.innerText ?? '')`
	}
	g.until(at("big") + `.includes('#1') && ` + at("bigger") + `.includes('#2')`) // nobody reloads
	g.until(at("big") + `.includes('WaitingForCapacity')`)
	g.until(at("big") + `.match(/\d\d:\d\d/)`) // when it is expected to start
	g.clickText("button", "big")
	g.shows("Blocked by")
	g.until(`location.search.includes('why=default/big')`)
	g.until(`document.querySelector('.numbers').innerText.replace(/\s+/g, ' ').includes('needs 4')`)
	g.until(`[...document.querySelectorAll('.why section')].some(s => s.innerText.includes('Workloads whose end makes room') && s.innerText.includes('holder'))`)
	g.until(`[...document.querySelectorAll('.offer code')].some(c => c.innerText === '--workers 2')`)
	g.until(`document.querySelector('.expect-when')`)
	// Enter is for what has the focus; where nothing has, it opens what is shown.
	g.must(g.Eval(`[...document.querySelectorAll('.queue-name')].find(b => b.innerText === 'bigger').focus()`, nil))
	g.press("Enter")
	g.until(`document.querySelector('.why h2').innerText === 'bigger'`)
	g.press("k")
	g.until(`document.querySelector('.why h2').innerText === 'big'`)
	g.must(g.Eval(`document.activeElement.blur()`, nil))
	g.press("Enter")
	g.until(`document.querySelector('h1').innerText === 'big'`)
	g.must(g.Eval(`history.back()`, nil))
	g.until(`document.querySelector('.why h2')?.innerText === 'big'`)
	g.press("j")
	g.until(`document.querySelector('.why h2').innerText === 'bigger'`)
	g.until(`[...document.querySelectorAll('.why section')].some(s => s.innerText.includes('Ahead in the queue') && s.innerText.includes('big'))`)

	// With another priority it is the first.
	g.must(g.Eval(`(() => { const s = document.querySelector('.why select'); s.value = 'very-high'; s.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.until(at("bigger") + `.includes('#1') && ` + at("big") + `.includes('#2')`)
	w.muster("stop", "holder", "--yes")
	g.shows("Running: nothing blocks it.")
	g.until(`!document.querySelector('tr[data-name="bigger"]')`)
	g.press("Escape")
	g.until(`!document.querySelector('.why') && !location.search.includes('why')`)
}

func TestAQuotaThatCouldBe(t *testing.T) {
	w := newWorld(t)
	w.muster("project", "create", "vision", "--quota", "gpu=8")
	w.muster("project", "create", "nlp", "--quota", "gpu=0")
	for _, name := range []string{"a", "b", "c", "d"} {
		w.submit(`{name: ` + name + `, project: vision, kind: distributed, workers: 2, resources: {cpu: 0.05, gpu: 1}, command: "sleep 3000"}`)
		w.muster("wait", name, "-p", "vision", "--for", "Running", "--timeout", "60s")
	}
	w.submit(`{name: eager, project: nlp, kind: distributed, workers: 2, resources: {cpu: 0.05, gpu: 1}, command: "sleep 3000"}`)
	g := w.enter(1280, 800)
	g.shows("eager")
	g.press("g", "p")
	used := func(name, text string) {
		g.until(`(document.querySelector('tr[data-name="` + name + `"] .quota-bar')?.getAttribute('aria-label') ?? '').includes('` + text + `')`)
	}
	used("vision", "8 used of 8 guaranteed")
	g.until(`document.querySelector('tr[data-name="nlp"]').innerText.includes('2 GPU')`)
	g.clickText("a", "vision")
	g.shows("Simulate another quota")
	g.until(`document.querySelector('.if-form button[type=submit]').getAttribute('aria-disabled') === 'true'`)
	g.fill(`.if-form input[aria-label^="Guaranteed"]`, "much")
	g.shows("is not an amount")
	g.fill(`.if-form input[aria-label^="Guaranteed"]`, "4")
	g.clickText("button", "Simulate")
	g.shows("1 workload would start at once, 1 workload would be preempted.")
	g.until(`[...document.querySelectorAll('.if-who section')].some(s => s.innerText.includes('Would start') && s.innerText.includes('eager'))`)
	g.until(`[...document.querySelectorAll('.shifts tr')].some(r => r.innerText.includes('vision') && r.innerText.includes('8 → 4'))`)
	g.until(`document.querySelector('.stand .quota-bar').getAttribute('aria-label').includes('8 guaranteed')`) // nothing is done
	g.clickText("button", "Apply")
	g.shows("1 workload would be preempted.")
	g.clickText("dialog button", "Change")
	g.until(`document.querySelector('.stand .quota-bar').getAttribute('aria-label').includes('4 guaranteed')`)
	w.muster("wait", "eager", "-p", "nlp", "--for", "Running", "--timeout", "60s") // it came as it was said
	g.until(`document.querySelector('.stand .quota-bar').getAttribute('aria-label').includes('6 used')`)
	g.clickText("button", "Stop")
	g.clickText("dialog button", "Stop")
	g.until(`document.querySelector('.page-sub').innerText.includes('stopped')`)
	g.clickText("button", "Open")
	g.until(`!document.querySelector('.page-sub').innerText.includes('stopped')`)
}

func TestComparingAttempts(t *testing.T) {
	w := newWorld(t)
	failTwice(w, "default")
	g := w.enter(1280, 800)
	g.visit("workloads/default/again")
	g.clickText(".tabs a", "Compare")
	line := func(what, a, b string) {
		g.until(`[...document.querySelectorAll('.diff-table tr')].some(r => r.children.length === 3 && r.children[0].innerText.trim() === '` + what + `' && r.children[1].innerText.trim() === '` + a + `' && r.children[2].innerText.trim() === '` + b + `')`)
	}
	line("priority", "train", "high")
	line("Exit code", "3", "4")
	g.until(`![...document.querySelectorAll('.diff-table td')].some(c => c.innerText.trim() === 'Tasks')`)
	g.click(".toolbar input[type=checkbox]")
	line("Tasks", "1", "1")
	line("retry.limit", "1", "1")
	line("kind", "training", "training")
	g.until(`document.querySelectorAll('.phase-bar').length === 2`)
}

// Two workloads are chosen in the list, and compared like two attempts.
func TestComparingWorkloads(t *testing.T) {
	w := newWorld(t)
	w.muster("project", "create", "vision")
	w.submit(`{name: slow, command: "true", priority: low, resources: {cpu: 0.1}}`)
	w.submit(`{name: quick, project: vision, command: "exit 3", resources: {cpu: 0.2}}`)
	g := w.enter(1280, 800)
	g.until(row("slow") + `.includes('Completed') && ` + row("quick") + `.includes('Failed')`)
	choose := func(name string) {
		g.must(g.Eval(`[...document.querySelectorAll('tbody tr')].find(r => r.querySelector('.row-link')?.innerText === '`+name+`').querySelector('input').click()`, nil))
	}
	choose("quick")
	g.until(`[...document.querySelectorAll('.bulk button')].find(b => b.innerText === 'Compare').title.includes('two or more')`)
	choose("slow")
	// Commands name each by its project.
	g.clickText(".bulk button", "Copy as")
	g.until(`document.querySelector('dialog[open] pre')?.innerText.split('\n').sort().join('|') === 'muster stop quick --project vision|muster stop slow'`)
	g.press("Escape")
	g.clickText(".bulk button", "Compare")
	line := func(what, a, b string) {
		t.Helper()
		g.until(`[...document.querySelectorAll('.diff-table tr')].some(r => [...r.children].map(c => c.innerText.trim()).join('|') === '` + what + `|` + a + `|` + b + `')`)
	}
	line("Field", "slow", "quick")
	line("resources.cpu", "0.1", "0.2")
	line("priority", "low", "train")
	line("Exit code", "0", "3")
	g.until(`![...document.querySelectorAll('.diff-table td')].some(c => c.innerText.trim() === 'name')`)
	g.clickText(".panel button", "Copy as")
	g.until(`/^muster diff \S+@0 \S+@0$/.test(document.querySelector('dialog pre').innerText.trim())`)
	var command string
	g.must(g.Eval(`document.querySelector('dialog pre').innerText.trim()`, &command))
	if out := w.muster(strings.Fields(command)[1:]...); !strings.Contains(out, "priority") {
		t.Errorf("%s says\n%s", command, out)
	}
}

// What is measured and charged of all rows that are seen is asked for with one call each.
func TestColumnsOfUse(t *testing.T) {
	w := newWorld(t, "--sample-every", "1s")
	w.submit(`{name: busy, resources: {cpu: 0.05, gpu: 1}, command: "` + ranks + `"}`)
	w.submit(`{name: lazy, resources: {cpu: 0.05, gpu: 1}, command: "sleep 1000"}`)
	w.submit(`{name: none, resources: {cpu: 0.05}, command: "sleep 1000"}`)
	g := w.enter(1280, 800)
	g.visit("workloads?columns=status,hours,use")
	cell := func(name, column string) string {
		return `([...document.querySelectorAll('tbody tr')].find(r => r.querySelector('.row-link')?.innerText === '` + name + `')?.querySelector('td[data-column=` + column + `]').innerText.trim() ?? '')`
	}
	g.until(cell("lazy", "use") + ` === '0%' && /^[1-9]\d*%$/.test(` + cell("busy", "use") + `) && ` + cell("none", "use") + ` === '–'`)
	g.until(`/\d/.test(` + cell("busy", "hours") + `) && ` + cell("none", "hours") + ` === '–'`)
	var others int
	g.must(g.Eval(`performance.getEntriesByType('resource').filter(e => /\/workloads\/[^?]*\/(metrics|usage)/.test(e.name)).length`, &others))
	if others > 0 {
		t.Errorf("%d calls were about one workload each", others)
	}
}

func TestUsageAndWhatRanksUse(t *testing.T) {
	w := newWorld(t, "--sample-every", "1s")
	// Busy without a pause: on a machine that others use too it is still seen to be.
	w.submit(`{name: pair, kind: distributed, workers: 2, resources: {cpu: 0.05, gpu: 1}, command: "if [ \"$RANK\" = 1 ]; then sleep 3000; fi; while :; do :; done"}`)
	w.submit(`{name: crash, resources: {cpu: 0.05, gpu: 1}, command: "sleep 1; exit 3"}`)
	w.muster("wait", "crash", "--for", "Failed", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.visit("workloads/default/pair")
	g.clickText(".tabs a", "Metrics")
	g.until(`document.querySelector('.slowest[data-behind]')?.innerText.includes('worker 1')`) // as the stream tells that time goes on
	g.until(`document.querySelector('.ranks tr[data-slowest]')?.innerText.includes('worker 1')`)
	g.until(`document.querySelectorAll('.plot .line[data-strong]').length > 0`)
	g.click(".plot-key button")
	g.until(`document.querySelector('.plot-key button').getAttribute('aria-pressed') === 'true'`)
	// What happened is marked on every chart, and told where the pointer is.
	g.until(`[...document.querySelectorAll('.plot svg')].every(e => e.querySelector('.milestone[data-kind="begin"] title').textContent.startsWith('Attempt 0 started'))`)
	g.must(g.Eval(`(() => { const m = document.querySelector('.plot .milestone').getBoundingClientRect(); document.querySelector('.plot-frame').dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: m.x + m.width / 2, clientY: m.y})) })()`, nil))
	g.until(`document.querySelector('.plot-tip').innerText.includes('Attempt 0 started')`)
	w.muster("stop", "pair", "--yes", "--wait")
	g.until(`document.querySelector('.plot .milestone[data-kind="user"] title')?.textContent.startsWith('Stopped by')`)
	g.until(`document.querySelector('.legend').innerText.includes('attempt starts')`)
	g.press("g", "u")
	g.until(`document.querySelector('.used-table tbody tr')?.innerText.includes('default')`)
	g.clickText("button", "By workload")
	cells := func(name string) string {
		return `[...([...document.querySelectorAll('.used-table tbody tr')].find(r => r.innerText.includes('` + name + `'))?.children ?? [])].map(c => c.innerText.trim())`
	}
	g.until(cells("crash") + `[4]?.match(/^[<0]/)`) // lost
	g.until(cells("pair") + `[4] === '–'`)
	g.until(cells("pair") + `[3]?.match(/^[<0]/)`) // of rank 1, which does nothing
	// The columns say what it was; each part can be left out, and read by keyboard.
	part := func(name string) string {
		return `document.querySelectorAll('.plot .block[data-l="` + name + `"]').length`
	}
	g.until(part("used") + ` > 0 && ` + part("idle") + ` > 0 && ` + part("lost") + ` > 0`)
	g.clickText(".usage-part", "Used")
	g.until(part("used") + ` === 0 && ` + part("idle") + ` > 0`)
	g.must(g.Eval(`document.querySelector('.plot-frame').focus()`, nil))
	g.press("ArrowLeft")
	g.until(`/Idle .*Lost .*Total/.test(document.querySelector('.plot-frame [role=status]').innerText)`)
	g.clickText("button", "Owner")
	g.until(part("used") + ` + ` + part("idle") + ` === 0 && ` + part("0") + ` > 0 && ` + part("1") + ` > 0`)
	g.click(".twin summary")
	g.until(`document.querySelectorAll('.twin table tbody tr').length > 6`)
}
