package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/testing/browser"
)

// handing begins a command that hands out by which way, and with which token, its
// tasks are heard.
const handing = `printf '%%s\n%%s' "$MUSTER_TASK_URL" "$(cat $MUSTER_TASK_TOKEN_FILE)" > %[1]s.$$; mv %[1]s.$$ %[1]s; `

// A teller says what tasks of a workload would say.
type teller struct {
	t     testing.TB
	http  *http.Client
	token string
}

// tellerOf is for the tasks of a workload whose command began with handing this file.
func tellerOf(t testing.TB, file string) *teller {
	t.Helper()
	var text []byte
	for deadline := time.Now().Add(browser.Patience); ; time.Sleep(20 * time.Millisecond) {
		var err error
		if text, err = os.ReadFile(file); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	address, token, _ := strings.Cut(string(text), "\n")
	socket := strings.TrimPrefix(address, "unix://")
	return &teller{t, &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}, strings.TrimSpace(token)}
}

// say posts what a task says, again where it was too soon.
func (h *teller) say(path string, body any) {
	h.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	for deadline := time.Now().Add(browser.Patience); ; time.Sleep(20 * time.Millisecond) {
		req, err := http.NewRequest(http.MethodPost, "http://muster/v1/self/"+path, bytes.NewReader(text))
		if err != nil {
			h.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+h.token)
		req.Header.Set("Content-Type", "application/json")
		resp, err := h.http.Do(req)
		if err != nil {
			h.t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusNoContent:
			return
		case resp.StatusCode != http.StatusTooManyRequests || time.Now().After(deadline):
			h.t.Fatalf("%s: %s %s", text, resp.Status, answer)
		}
	}
}

// train says what a training of so many steps would, up to one of them.
func (h *teller) train(task int, from, to, total int64, rate float64) {
	h.t.Helper()
	for i := from; i <= to; i++ {
		x := float64(i) / float64(total)
		h.say("report", api.Report{Step: i * 50, Total: total * 50, Task: task, Metrics: map[string]float64{
			"loss": 0.2 + 2.6*math.Exp(-6*rate*x) + 0.05*math.Sin(float64(i)*1.7), "eval/accuracy": 0.9 - 0.7*math.Exp(-5*rate*x), "lr": 3e-4 * rate * (1 - x), "grad_norm": 0.4 + 0.3*math.Abs(math.Sin(float64(i)*0.9)),
		}})
	}
}

func init() {
	screens = append(screens,
		screen{name: "workload-curves", path: "workloads/default/gpt-small", ready: `document.querySelectorAll('.curve .line').length > 3 && document.querySelector('.log-tail pre') && document.querySelector('.trend')`},
	)
	populated = append(populated, func(w *world) {
		file := filepath.Join(w.t.TempDir(), "gpt")
		w.submit(`{name: gpt-small, resources: {cpu: 0.05, gpu: 1}, labels: {team: language}, command: "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(fmt.Sprintf(handing, file)) + training + `"}`)
		w.muster("wait", "gpt-small", "--for", "Running", "--timeout", "60s")
		h := tellerOf(w.t, file)
		h.train(0, 1, 40, 90, 1)
		h.say("checkpoint", api.NewCheckpoint{Path: "/ckpt/gpt-small/2000", Step: 2000})
		h.train(0, 41, 48, 90, 1)
	})
}

// What runs is told on its first screen: how far it is and when it ends, what it
// reports, what its GPUs do, what it wrote last, and what a stop would lose. Once it
// has ended its curves are still there.
func TestTheFirstScreenOfWhatRuns(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.submit(`{name: train, resources: {cpu: 0.1, gpu: 2}, command: ` + fmt.Sprintf("%q", fmt.Sprintf(handing, dir+"/way")+"echo first; printf 'epoch 1 10%%\\repoch 1 99%%\\n'; until [ -e "+dir+"/end ]; do sleep 0.05; done") + `}`)
	w.muster("wait", "train", "--for", "Running", "--timeout", "50s")
	g := w.enter(1280, 800)
	g.visit("workloads/default/train")
	tile := func(name string) string {
		return `([...document.querySelectorAll('.tile')].find(e => e.querySelector('.tile-name').innerText === ` + browser.Quote(name) + `)?.innerText ?? '')`
	}
	g.until(`/A stop now loses .*GPU-hours/.test(` + tile("Checkpoint") + `) && ` + tile("Run time") + `.includes('reports no progress')`)
	g.until(tile("GPU utilization") + `.includes('2 GPUs')`)
	g.until(`document.querySelector('.log-tail pre').innerText.trim() === 'first\nepoch 1 99%'`)
	g.until(`!document.querySelector('.curves') && document.querySelector('.lifeline [data-here]').innerText.startsWith('Running')`)
	h := tellerOf(t, dir+"/way")
	h.train(0, 1, 12, 4000, 1)
	h.say("checkpoint", api.NewCheckpoint{Path: "/ckpt", Step: 600})
	h.train(0, 13, 20, 4000, 1)
	g.until(`/Step 1\D?000 of 200\D?000 · .*steps\/s[^]*Ends about/.test(` + tile("Progress") + `)`)
	g.until(`[...document.querySelectorAll('.now-tiles time')].some(e => e.title && e.dateTime.endsWith('Z') && e.parentElement.innerText.startsWith('Ends about'))`) // when, exactly
	g.until(`/step 600[^]*Saved .* ago[^]*400 steps/.test(` + tile("Checkpoint") + `)`)
	g.until(`[...document.querySelectorAll('.curve-name')].map(e => e.innerText).join() === 'loss,eval/accuracy,lr,grad_norm'`)
	g.until(`document.querySelectorAll('.curve .line').length === 4 && /best \d\.\d+ at step \d+/.test(document.querySelector('.curve-one').innerText)`)
	// All curves share the pointer; a stretch that is dragged over is looked at alone.
	g.until(`document.querySelector('.curve .line').getAttribute('d').split('L').length === 20`)
	g.must(g.Eval(`document.querySelector('.curve').focus()`, nil))
	g.press("ArrowLeft")
	g.until(`document.querySelectorAll('.curve .plot-tip').length === 4 && document.querySelector('.curve .plot-tip b').innerText === 'step 1000'`)
	g.press("Escape")
	g.until(`!document.querySelector('.curve .plot-tip')`)
	g.must(g.Drag(".curve", 0.3, 0.6))
	g.until(`document.querySelector('.curve .line').getAttribute('d').split('L').length < 14`)
	g.clickText("button", "Whole range")
	g.until(`document.querySelector('.curve .line').getAttribute('d').split('L').length === 20`)
	touch(t, dir+"/end")
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Completed'`)
	g.until(`!document.querySelector('.now-tiles') && document.querySelectorAll('.curve .line').length === 4`)
	// They are there after a restart of the server, too.
	w.stop()
	w.start()
	g.visit("workloads/default/train")
	g.until(`document.querySelectorAll('.curve .line').length === 4`)
}

// allPhases shows the machine of all phases on the page of a workload.
func (g *page) allPhases() {
	g.t.Helper()
	g.clickText("button", "All phases")
	g.until(`document.querySelector('.station')`)
}

// A sweep is told as a table of what each task was given and what came of it, the best
// first, with its curves; and so are workloads that are compared.
func TestASweepAndWhatIsCompared(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	wait := "until [ -e " + dir + "/end ]; do sleep 0.05; done"
	command := func(name string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(fmt.Sprintf(handing, dir+"/"+name)) + wait + `"`
	}
	w.submit(`{name: sweep, resources: {cpu: 0.05}, array: {grid: {lr: [0.1, 0.01, 0.001], opt: [adam, sgd]}}, command: ` + command("sweep") + `}`)
	for i, name := range []string{"one", "two", "three"} {
		w.submit(fmt.Sprintf(`{name: %s, resources: {cpu: 0.05}, parameters: {width: %d}, command: %s}`, name, 64<<i, command(name)))
	}
	g := w.enter(1280, 800)
	h := tellerOf(t, dir+"/sweep")
	for task := range 6 {
		for i := range int64(4) {
			h.say("report", api.Report{Step: i, Task: task, Metrics: map[string]float64{"loss": math.Abs(float64(task)-3) + 1/float64(1+i), "acc": float64(task) / 10}})
		}
	}
	g.visit("workloads/default/sweep")
	first := `[...document.querySelectorAll('.trials tbody tr')].map(r => r.querySelector('a').innerText).join()`
	g.until(first + `.startsWith('task 3,') && document.querySelectorAll('.trials tbody tr').length === 6`)
	g.until(`document.querySelector('.trials tbody tr').innerText.replace(/\s+/g, ' ').includes('0.01 sgd')`)
	g.until(`document.querySelector('.trials tbody tr .best').innerText.startsWith('0.25') && document.querySelectorAll('.parallel .try').length === 6 && document.querySelectorAll('.curve .line').length === 12`)
	// A stretch of an axis is looked at alone: of lr what is below the greatest.
	g.must(g.DragDown(".parallel .axis-grip", 0.3, 1))
	g.until(`document.querySelectorAll('.parallel .try').length === 4 && document.querySelector('.parallel').innerText.includes('4 of 6 runs')`)
	g.until(`[...document.querySelectorAll('.parallel text')].map(e => e.textContent).join().includes('0.001,0.01') && ![...document.querySelectorAll('.parallel text')].some(e => e.textContent === '0.1')`)
	g.clickText(".parallel button", "Whole range")
	g.until(`document.querySelectorAll('.parallel .try').length === 6 && !document.querySelector('.parallel button')`)
	g.clickText(".trial-by", "acc")
	g.until(first + `.startsWith('task 5,')`)
	g.clickText(".trial-by", "lr")
	g.until(first + `.startsWith('task 4,')`)
	// Of several workloads what tells them apart is what they were given.
	for i, name := range []string{"one", "two", "three"} {
		h := tellerOf(t, dir+"/"+name)
		h.say("report", api.Report{Step: 1, Metrics: map[string]float64{"loss": float64(3 - i)}})
		h.say("report", api.Report{Step: 2, Metrics: map[string]float64{"loss": 0.5 * float64(3-i)}})
	}
	g.visit("workloads")
	g.until(`document.querySelectorAll('tbody tr').length === 4`)
	g.must(g.Eval(`document.querySelectorAll('tbody tr').forEach(r => ['one', 'two', 'three'].includes(r.querySelector('.row-link').innerText) && r.querySelector('input').click())`, nil))
	g.clickText("button", "Compare")
	g.until(`location.pathname.endsWith('/compare') && ` + first + ` === 'three,two,one'`)
	g.until(`[...document.querySelectorAll('.trials th')].map(e => e.innerText.trim()).join().startsWith('Name,State,width,loss ↑,command') && document.querySelectorAll('.curve .line').length === 3`)
	// With a key each line can be looked at alone.
	g.clickText(".plot-key button", "one")
	g.until(`document.querySelectorAll('.curve .line').length === 1`)
	g.comparedByOtherColumns()
	touch(t, dir+"/end")
}

// comparedByOtherColumns chooses columns of what is compared: they are kept, say who is
// best, and go into the file.
func (g *page) comparedByOtherColumns() {
	g.t.Helper()
	const head = `[...document.querySelectorAll('.trials th')].map(e => e.innerText.replace(/ [↓↑]$/, '').trim()).join()`
	choose := func(name string) {
		g.clickText(".trials .menu button", name)
	}
	g.click(`.trials .menu-box button[aria-label="Columns"]`)
	for _, name := range []string{"width", "loss, max", "loss, last", "Run time", "GPU-hours", "resources.cpu"} {
		choose(name)
	}
	g.press("Escape")
	const want = `'Name,State,resources.cpu,loss,loss, last,loss, max,Run time,GPU-hours,command'`
	g.until(head + ` === ` + want)
	const cell = `((name, i) => [...document.querySelectorAll('.trials tbody tr')].find(r => r.querySelector('a').innerText === name).children[i])`
	g.until(cell + `('three', 5).querySelector('.best')?.innerText.startsWith('1') && ` + cell + `('one', 5).innerText === '3' && !` + cell + `('one', 5).querySelector('.best')`)
	g.until(`/^\d+s$|^\d+ms$|^\d+m/.test(` + cell + `('one', 6).innerText)`)
	g.clickText(".trial-by", "loss, max")
	g.until(`document.querySelector('.trials th[aria-sort]').innerText === 'loss, max ↑'`)
	g.must(g.Eval(`(() => { const make = URL.createObjectURL; URL.createObjectURL = (b) => { window.saved = b; return make.call(URL, b) } })()`, nil))
	g.click(`.trials button[aria-label="Download as CSV"]`)
	g.must(g.UntilPromised(`window.saved?.text().then(t => t.startsWith('name,state,resources.cpu,loss,"loss, last","loss, max",Run time,GPU-hours,command\r\nthree,Running,50m,0.5,0.5,1,')) ?? Promise.resolve(false)`))
	g.must(g.Eval(`location.reload()`, nil))
	g.until(`document.querySelectorAll('.trials tbody tr').length === 3 && ` + head + ` === ` + want)
}

func init() {
	screens = append(screens,
		screen{name: "workload-strips", path: "workloads/default/llm-pretrain?tab=metrics", ready: `document.querySelectorAll('.heat-board text').length >= 4 && document.querySelectorAll('main .plot').length > 1`},
		screen{name: "workload-sweep", path: "workloads/default/lr-sweep", ready: `document.querySelectorAll('.parallel .try').length > 10 && document.querySelectorAll('.curve .line').length > 10`},
		screen{name: "compare", path: "workloads", ready: `document.querySelectorAll('tbody tr').length > 0`, then: func(g *page) {
			g.must(g.Eval(`fetch('/v1/projects/default/rows?limit=100').then(r => r.json()).then(l => location.assign('compare?of=' + l.items.filter(r => ['gpt-small', 'gpt-wide', 'gpt-deep'].includes(r.name)).map(r => r.id).join()))`, nil))
			g.until(`document.querySelectorAll('.trials tbody tr').length === 3 && document.querySelectorAll('.curve .line').length > 3`)
		}},
	)
	populated = append(populated, func(w *world) {
		dir := w.t.TempDir()
		command := func(name string) string {
			return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(fmt.Sprintf(handing, filepath.Join(dir, name))) + `sleep 1000"`
		}
		w.submit(`{name: lr-sweep, resources: {cpu: 0.01}, array: {grid: {lr: [0.1, 0.03, 0.01, 0.003], seed: [1, 2], opt: [adam, lion]}}, command: ` + command("sweep") + `}`)
		w.submit(`{name: gpt-wide, resources: {cpu: 0.05}, parameters: {width: 2048, layers: 12}, command: ` + command("wide") + `}`)
		w.submit(`{name: gpt-deep, resources: {cpu: 0.05}, parameters: {width: 1024, layers: 24}, command: ` + command("deep") + `}`)
		h := tellerOf(w.t, filepath.Join(dir, "sweep"))
		for i := int64(1); i <= 10; i++ {
			for task := range 16 {
				h.train(task, i, i, 12, 0.3+0.09*float64(task*7%16))
			}
		}
		for i, name := range []string{"wide", "deep"} {
			tellerOf(w.t, filepath.Join(dir, name)).train(0, 1, 30, 90, 0.8+0.6*float64(i))
		}
	})
}

// All tasks of an array are seen at one look, by state; values of a grid choose among
// them, and each leads to its log.
func TestTasksAsAMatrix(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	w.submit(`{name: grid, resources: {cpu: 0.05}, array: {grid: {lr: [0.1, 0.01], seed: [1, 2, 3]}, parallelism: 2}, command: "echo lr $LR; case $LR-$SEED in 0.1-1) exit 3;; 0.1-*) true;; *) until [ -e ` + dir + `/end ]; do sleep 0.05; done;; esac"}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/grid")
	counts := `document.querySelector('.matrix .counts')?.innerText.replace(/\s+/g, ' ')`
	g.until(counts + ` === '1 failed 2 running 1 pending 2 succeeded'`)
	g.until(`/50 %[^]*3 of 6 tasks have ended · 1 failed[^]*Ends about/.test(document.querySelector('.now-tiles .tile').innerText)`)
	// Once none waits for another's place the rest end when they do.
	w.muster("update", "grid", "--set", "array.parallelism=3")
	g.until(`/3 of 6 tasks have ended · 1 failed$/.test(document.querySelector('.now-tiles .tile').innerText.trim())`)
	g.until(counts + ` === '1 failed 3 running 2 succeeded'`)
	g.until(`[...document.querySelectorAll('.matrix-box text')].map(e => e.textContent).join() === 'lr 0.1,lr 0.01'`)
	g.must(g.Eval(`(() => { const s = document.querySelector('.matrix-card select'); s.value = '0.1'; s.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.until(counts + ` === '1 failed 2 succeeded'`)
	g.must(g.Eval(`document.querySelector('.matrix-box').focus()`, nil))
	g.press("ArrowRight", "ArrowRight")
	g.until(`document.querySelector('.matrix-said').innerText === 'task 1 · lr 0.1, seed 2 · succeeded'`)
	g.press("Enter")
	g.until(`location.search.includes('tab=logs') && location.search.includes('task=1') && document.querySelector('.log-text')?.innerText.trim() === 'lr 0.1'`)
	touch(t, dir+"/end")
}

// Each rank of a gang has a strip of what it did, which is read by keys and leads to
// its log.
func TestStripsOfRanks(t *testing.T) {
	w := newWorld(t, "--sample-every", "1s")
	told := filepath.Join(t.TempDir(), "told")
	w.submit(`{name: gang, kind: distributed, workers: 6, resources: {cpu: 0.05, gpu: 1}, command: ` + fmt.Sprintf("%q", "echo rank $RANK; "+fmt.Sprintf(handing, told)+"sleep 1000") + `}`)
	g := w.enter(1280, 800)
	g.visit("workloads/default/gang?tab=metrics")
	g.until(`document.querySelectorAll('.heat-board text').length >= 6`)
	g.must(g.Eval(`document.querySelector('.heat').focus()`, nil))
	g.press("ArrowDown", "ArrowDown", "ArrowDown")
	g.until(`/^worker 2 · .* · .*(%|not measured)$/.test(document.querySelector('.matrix-said').innerText)`)
	g.until(`(() => { const c = document.querySelector('.heat-canvas'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v > 0) })()`)
	// Network of a machine that all share is not known of one rank, and steps only of who reports them.
	const of = `[...document.querySelectorAll('.heat-of button')].find(e => e.innerText === '%s')`
	g.until(fmt.Sprintf(of, "Network") + `.title.includes('share that of their machine') && ` + fmt.Sprintf(of, "Step time") + `.getAttribute('aria-disabled') === 'true'`)
	h := tellerOf(t, told)
	for i := range int64(2) {
		for rank := range 6 {
			step := 1000 * i
			if rank == 2 {
				step = 10 * i
			}
			h.say("report", api.Report{Step: step, Task: rank})
		}
	}
	g.until(fmt.Sprintf(of, "Step time") + `.getAttribute('aria-disabled') !== 'true'`)
	g.clickText(".heat-of button", "Step time")
	// The rank whose steps take a hundred times as long has the full color; what half of
	// all take has half of it, and no more.
	g.until(`(() => {
		const c = document.querySelector('.heat-canvas'), d = c.getContext('2d'), high = c.height / 6
		const most = r => { const p = d.getImageData(0, Math.floor((r + 0.4) * high), c.width, 1).data; let n = 0; for (let i = 3; i < p.length; i += 4) n = Math.max(n, p[i]); return n }
		const others = [0, 1, 3, 4, 5].map(most)
		return document.querySelector('.heat-of button[aria-pressed=true]').innerText === 'Step time' && most(2) > 240 && others.every(n => n > 10) && others.filter(n => n < 220).length >= 2
	})()`)
	zoomsAndSaves(g)
	g.must(g.Eval(`document.querySelector('.heat').focus()`, nil))
	g.press("ArrowDown", "ArrowDown", "ArrowDown")
	g.until(`/^worker 2 · .* · (no step ended|[0-9.,]+ m?s)$/.test(document.querySelector('.matrix-said').innerText)`)
	g.press("Enter")
	g.until(`location.search.includes('tab=logs') && location.search.includes('task=2') && document.querySelector('.log-text')?.innerText.trim() === 'rank 2'`)
}
