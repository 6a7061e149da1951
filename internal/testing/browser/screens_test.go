package browser_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A screen is one that is looked at in both themes and both sizes. Whoever adds
// screens to the pages adds them here, in an init of a file of their own.
type screen struct {
	name string
	path string
	// ready is a JavaScript expression that is true once it shows what it should.
	ready string
	// then is done before it is looked at; nil: nothing.
	then func(*page)
}

var screens = []screen{
	{name: "workloads", path: "workloads", ready: `document.querySelectorAll('tbody tr').length > 8`},
	{name: "workloads-filtered", path: "workloads?q=status:bad", ready: `document.querySelectorAll('tbody tr').length >= 2`},
	{name: "workloads-chosen", path: "workloads?q=status:active", ready: `document.querySelectorAll('tbody tr').length > 3`, then: func(g *page) {
		g.must(g.Eval(`document.querySelectorAll('tbody input').forEach((e, i) => i < 3 && e.click())`, nil))
	}},
	{name: "workloads-none", path: "workloads?q=nothing-is-called-this", ready: `document.body.innerText.includes('No workload matches')`},
	{name: "workload-running", path: "workloads/default/llm-pretrain", ready: `document.querySelector('.lifeline') && document.querySelector('.bit')`},
	{name: "workload-failed", path: "workloads/default/finetune-lora", ready: `document.querySelector('.first-error') && document.querySelector('.bit')`},
	{name: "workload-waiting", path: "workloads/default/sweep-large", ready: `document.querySelector('.pending') && document.querySelector('.bit')`},
	{name: "workload-tasks", path: "workloads/default/llm-pretrain?tab=tasks", ready: `document.querySelectorAll('tbody tr').length > 3`},
	{name: "workload-logs", path: "workloads/default/llm-pretrain?tab=logs", ready: `document.querySelectorAll('.log-line').length > 5`},
	{name: "workload-logs-found", path: "workloads/default/finetune-lora?tab=logs", ready: `document.querySelectorAll('.log-line').length > 5`, then: func(g *page) {
		g.press("/")
		g.write("error")
		g.until(`document.querySelector('.log mark')`)
	}},
	{name: "workload-events", path: "workloads/default/finetune-lora?tab=events", ready: `document.querySelectorAll('.events tbody tr').length > 5`},
	{name: "workload-spec", path: "workloads/default/llm-pretrain?tab=spec", ready: `document.querySelector('.code')`},
	{name: "palette", path: "workloads", ready: `document.querySelectorAll('tbody tr').length > 8`, then: func(g *page) {
		g.press("Control+k")
		g.until(`document.querySelector('.palette-list li')`)
	}},
	{name: "keys", path: "workloads", ready: `document.querySelectorAll('tbody tr').length > 8`, then: func(g *page) {
		g.press("?")
		g.until(`document.querySelector('.keylist')`)
	}},
	{name: "map-one", path: "map", ready: `document.querySelectorAll('.bench-gpu').length === 8 && document.querySelector('.timeline')`},
	{name: "question", path: "workloads/default/llm-pretrain", ready: `document.querySelector('.lifeline')`, then: func(g *page) {
		g.clickText("button", "Stop")
		g.until(`document.querySelector('dialog[open]')`)
	}},
	{name: "missing", path: "workloads/default/no-such-thing", ready: `document.body.innerText.includes('No workload no-such-thing')`},
	{name: "login", path: "login", ready: `document.querySelector('#token')`},
}

// populated are further things of that day, of the screens that show them.
var populated []func(*world)

// populate submits what a busy day leaves behind, and waits until it is so.
func populate(w *world) {
	small := `resources: {cpu: 0.05`
	until := func(phases map[string]string) {
		for name, phase := range phases {
			w.muster("wait", name, "--for", phase, "--timeout", "60s")
		}
	}
	for _, d := range []string{
		`{name: resnet50-baseline, ` + small + `, gpu: 1}, labels: {team: vision}, command: "echo epoch 90: top1 76.4; true"}`,
		`{name: tokenise-corpus, ` + small + `}, labels: {team: language}, command: "echo 12.1B tokens"}`,
		`{name: eval-mmlu, ` + small + `, gpu: 1}, labels: {team: language}, command: "echo mmlu 0.684"}`,
		`{name: diffusion-xl, ` + small + `, gpu: 1}, labels: {team: vision}, maxDuration: 1s, command: "sleep 600"}`,
		`{name: finetune-lora, ` + small + `, gpu: 1}, labels: {team: language}, retry: {limit: 1, backoff: 1s}, command: "` + traceback + `"}`,
	} {
		w.submit(d)
	}
	// With these still there the next would have to leave for others, or not: an attempt more.
	until(map[string]string{"resnet50-baseline": "Completed", "tokenise-corpus": "Completed", "eval-mmlu": "Completed", "diffusion-xl": "TimedOut", "finetune-lora": "Failed"})
	for _, d := range []string{
		`{name: llm-pretrain, kind: distributed, workers: 4, resources: {cpu: 0.05, gpu: 1}, labels: {team: language, model: 7b}, command: "` + training + `"}`,
		`{name: notebook-anna, kind: workspace, resources: {cpu: 0.05, gpu: 1}, command: "echo serving on port 8888; sleep 1000"}`,
		`{name: sweep-large, kind: distributed, workers: 8, resources: {cpu: 0.05, gpu: 1}, labels: {team: vision}, priority: 40, command: "true"}`,
		`{name: abandoned-run, resources: {cpu: 0.05, gpu: 1}, command: "sleep 1000"}`,
		`{name: segmentation-v2, resources: {cpu: 0.05, gpu: 1}, labels: {team: vision}, command: "echo step 1200 loss 0.182; sleep 1000"}`,
	} {
		w.submit(d)
	}
	until(map[string]string{"llm-pretrain": "Running", "notebook-anna": "Running", "abandoned-run": "Running", "segmentation-v2": "Running", "sweep-large": "Queued"})
	w.muster("stop", "abandoned-run", "--yes", "--wait")
	for _, more := range populated {
		more(w)
	}
}

const traceback = `printf '[rank 0] loading meta-llama/Llama-3.1-8B\\n\\033[32mINFO\\033[0m adapter r=16 alpha=32, 41.9M of 8.07B parameters train\\n'; for i in 1 2 3 4 5; do printf 'step %s loss 1.%s24 lr 2.0e-04\\n' $i $((9 - i)); done; printf 'Traceback (most recent call last):\\n  File \"train.py\", line 212, in <module>\\n    trainer.train()\\n  File \"/opt/train/trainer.py\", line 88, in train\\n    loss.backward()\\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.11 GiB of which 1.02 GiB is free.\\n' >&2; exit 1`

const training = `printf '\\033[36mNCCL INFO\\033[0m Bootstrap: using eth0\\n\\033[36mNCCL INFO\\033[0m comm 0x5581 nranks 4 Init COMPLETE\\n'; for i in $(seq 1 240); do printf 'step %4d | loss %s.%03d | grad norm 0.%02d | 41%03d tok/s\\n' $((i * 10)) 2 $((999 - i * 3)) $((90 - i / 5)) $((i % 997)); done; printf '\\033[33mWARN\\033[0m checkpoint took 38 s, longer than the step budget\\n'; sleep 1000`

// TestScreens looks at every screen as people see it: nothing that axe finds may
// be wrong with it. With MUSTER_UI_SHOTS=DIR it leaves a picture of each there.
func TestScreens(t *testing.T) {
	w := newWorld(t)
	populate(w)
	lookAt(t, w.enter, screens)
}

// lookAt looks at screens in both themes and both sizes. A screen is opened once
// for each size: whoever changes the theme of his system sees the pages follow,
// and what a theme can change is colours alone.
func lookAt(t *testing.T, enter func(width, height int) *page, all []screen) {
	axe, err := os.ReadFile("testdata/vendor/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	dir := os.Getenv("MUSTER_UI_SHOTS")
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	only := strings.Split(os.Getenv("MUSTER_UI_SCREEN"), ",") // parts of names
	for _, size := range []struct{ width, height int }{{1280, 800}, {380, 800}} {
		g := enter(size.width, size.height)
		for _, s := range all {
			if !slices.ContainsFunc(only, func(part string) bool { return strings.Contains(s.name, part) }) {
				continue
			}
			look := func(scheme string, see func(v *page)) {
				name := fmt.Sprintf("%s-%s-%d", s.name, scheme, size.width)
				t.Run(name, func(t *testing.T) {
					v := &page{Page: g.Page, t: t, w: g.w}
					v.must(v.Prefer(scheme, true))
					see(v)
					if dir != "" {
						v.must(v.Screenshot(filepath.Join(dir, name+".png")))
					}
				})
			}
			look("light", func(v *page) {
				v.must(v.Open(g.w.url + "/ui/" + s.path))
				v.until(s.ready)
				v.must(v.Eval(`document.fonts.ready.then(() => new Promise(done => setTimeout(done, 100)))`, nil))
				if s.then != nil {
					s.then(v)
				}
				v.accessible(string(axe), everyRule)
				v.laidOut("as it is opened")
				if slices.Contains(keptLayouts, s.name) {
					v.keepsLayout(fmt.Sprintf("%s-%d", s.name, size.width))
				}
			})
			look("dark", func(v *page) {
				v.until(`!document.querySelector('[data-stale]')`) // what is asked anew meanwhile is paler
				v.must(v.Eval(twoFrames, nil))
				v.accessible(string(axe), colourRules)
			})
			if size.width > 700 {
				t.Run(s.name+"-narrow", func(t *testing.T) {
					v := &page{Page: g.Page, t: t, w: g.w}
					v.must(v.Resize(700, size.height))
					v.laidOut("made narrow")
					v.must(v.Resize(size.width, size.height))
				})
			}
		}
	}
}

// twoFrames lets what changed be drawn.
const twoFrames = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`

// What axe is asked: all of it, or what depends on colours.
const (
	everyRule   = `['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']`
	colourRules = `{type: 'rule', values: ['color-contrast', 'link-in-text-block']}`
)

// accessible fails for everything that axe finds wrong by these rules of WCAG 2.2 AA.
func (g *page) accessible(axe, rules string) {
	g.t.Helper()
	var there bool
	if g.must(g.Eval(`Boolean(window.axe)`, &there)); !there {
		g.must(g.Eval(axe+"; 0", nil))
	}
	var text string
	g.must(g.Eval(`axe.run(document, {runOnly: `+rules+`, resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 4).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary)}))))`, &text))
	var found []struct {
		ID, Help string
		Nodes    []string
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		g.t.Fatal(err)
	}
	for _, f := range found {
		g.t.Errorf("%s: %s\n  %s", f.ID, f.Help, strings.Join(f.Nodes, "\n  "))
	}
}

//go:embed testdata/layout.js
var layout string

// laidOut fails for what is wider than the window, leaves its card, or lies over
// other text. What was just resized is given the time to draw.
func (g *page) laidOut(when string) {
	g.t.Helper()
	var wrong []string
	for begun := time.Now(); time.Since(begun) < 5*time.Second; time.Sleep(100 * time.Millisecond) {
		g.must(g.Eval(layout, &wrong))
		if len(wrong) == 0 {
			return
		}
	}
	for _, w := range wrong {
		g.t.Errorf("%s: %s", when, w)
	}
}
