package browser_test

import "testing"

// Lists say what is known of a failure, not only how the command ended; and the
// page of a service that crashes and is started again shows its error.
func TestListsSayTheFirstError(t *testing.T) {
	w := newWorld(t)
	const script = `command: "cat >&2 <<'EOF'\nTraceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nKeyError: 'model_path'\nEOF\nexit 1"`
	w.submit("name: broken\nresources: {cpu: 0.1}\n" + script)
	w.submit("name: mute\nresources: {cpu: 0.1}\ncommand: exit 3")
	w.submit("name: crashing\nkind: inference\nreplicas: 1\nresources: {cpu: 0.1}\n" + script)
	g := w.enter(1280, 800)
	g.visit("workloads")
	g.until(row("broken") + `.includes("KeyError: 'model_path'")`)
	g.until(row("crashing") + `.includes("KeyError: 'model_path'")`)
	g.until(row("mute") + `.includes('exited with code 3')`)
	g.visit("overview")
	g.until(`[...document.querySelectorAll('.lines li')].some(e => e.innerText.includes('broken') && e.innerText.includes("KeyError: 'model_path'"))`)
	g.visit("workloads/default/crashing")
	g.until(`document.querySelector('.first-error')?.innerText.includes("KeyError: 'model_path'")`)
}
