package browser_test

import "testing"

func init() {
	screens = append(screens, screen{name: "workload-terminal", path: "workloads/default/llm-pretrain?tab=terminal", ready: `document.querySelector('.terminal-frame[data-state=open] .xterm-rows')`, then: func(g *page) {
		g.write("printf '\\033[1;32mtask %s of %s\\033[0m on \\033[38;2;200;120;40m%s\\033[0m\\n' $MUSTER_TASK_INDEX 4 here; env | grep -c MUSTER")
		g.press("Enter")
		g.until(`document.querySelector('.xterm-rows').innerText.includes('task 0 of 4')`)
	}})
}

const screenText = `(document.querySelector('.xterm-rows')?.innerText ?? '').replaceAll('\u00a0', ' ')`

func TestATerminalBesideATask(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: pair, kind: distributed, workers: 2, resources: {cpu: 0.1}, command: "sleep 1000"}`)
	g := w.enter(1280, 800)
	g.until(row("pair") + `.includes('Running')`)
	g.visit("workloads/default/pair")
	var loaded bool
	g.must(g.Eval(`performance.getEntriesByType('resource').some(r => r.name.includes('xterm'))`, &loaded))
	if loaded {
		t.Error("the terminal is loaded though nobody has opened one")
	}
	g.clickText(".tabs a", "Terminal")
	g.until(`document.querySelector('.terminal-frame[data-state=open]')`)
	g.write("echo hello from $MUSTER_TASK_INDEX")
	g.press("Enter")
	g.until(screenText + `.includes('hello from 0')`)
	// Colours that only a style can say are there, though the policy forbids styles that are written.
	g.write("printf '\\033[38;2;10;80;20mtrue colour\\033[0m\\n'")
	g.press("Enter")
	g.until(`[...document.querySelectorAll('.xterm-rows span')].some(s => getComputedStyle(s).color === 'rgb(10, 80, 20)')`)
	// Its size is that of the room there is, and keys are what they are.
	// One program for the shell: between two of a line an interrupt may hit neither.
	g.write("sh -c 'stty size; exec sleep 100'")
	g.press("Enter")
	g.until(`/\n\d\d \d\d+/.test(` + screenText + `)`)
	g.press("Control+c")
	g.write("exit 3")
	g.press("Enter")
	g.shows("The shell exited with code 3")
	g.clickText(".terminal-foot button", "Open again")
	g.until(`document.querySelector('.terminal-frame[data-state=open]')`)
	// The other task.
	g.must(g.Eval(`(() => { const s = document.querySelector('.toolbar select'); s.value = '1'; s.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.until(`document.querySelector('.terminal-frame[data-state=open]') && document.querySelector('.terminal-box').getAttribute('aria-label') === 'Terminal of task 1'`)
	g.click(".terminal-box")
	g.write("echo hello from $MUSTER_TASK_INDEX")
	g.press("Enter")
	g.until(screenText + `.includes('hello from 1')`)
}
