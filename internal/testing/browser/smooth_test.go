package browser_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/musterhq/muster/api"
)

// Curves are smoothed as far as somebody wants, over what they are of; a chart is a picture
// that has its curve in it.
func TestCurvesAreSmoothedAndSaved(t *testing.T) {
	w := newWorld(t)
	told := filepath.Join(t.TempDir(), "told")
	w.submit(fmt.Sprintf(`{name: gpt, resources: {cpu: 0.05}, command: `+"%q"+`}`, fmt.Sprintf(handing, told)+"sleep 1000"))
	w.muster("wait", "gpt", "--for", "Running")
	h := tellerOf(t, told)
	for i := range int64(6) {
		h.say("report", api.Report{Step: i + 1, Total: 10, Metrics: map[string]float64{"loss": float64(i % 2)}})
	}
	g := w.enter(1280, 800)
	g.visit("workloads/default/gpt")
	const lines = `[...document.querySelectorAll('.curve .line')]`
	g.until(lines + `.length === 1 && ` + lines + `[0].getAttribute('d').split('L').length === 6`)
	g.must(g.Eval(`(() => { window.rough = `+lines+`[0].getAttribute('d'); const e = document.querySelector('.curves-smooth input'); e.value = 90; e.dispatchEvent(new Event('input', {bubbles: true})) })()`, nil))
	// The mean moves less than what it is of, which is drawn below it as it was.
	const tall = `(d => { const y = d.slice(1).split('L').map(p => Number(p.split(' ')[1])); return Math.max(...y) - Math.min(...y.slice(1)) })`
	g.until(lines + `.length === 2 && ` + lines + `[0].getAttribute('d') === window.rough && ` + tall + `(` + lines + `[1].getAttribute('d')) < 0.9 * ` + tall + `(window.rough)`)
	// A stretch is moved and made larger by keys; beside it is not what it was.
	const axis = `[...document.querySelectorAll('.curve svg text[text-anchor=middle]')].map(e => e.textContent).join()`
	g.must(g.Eval(`window.whole = `+axis, nil))
	g.must(g.Drag(".curve", 0.5, 0.7))
	g.clickUntil("button", "Whole range", `![...document.querySelectorAll('button')].some(b => b.innerText === 'Whole range')`)
	g.must(g.Drag(".curve", 0.5, 0.7))
	g.until(`[...document.querySelectorAll('button')].some(b => b.innerText === 'Whole range')`)
	g.must(g.Eval(`document.querySelector('.curve').focus(); window.axis = `+axis, nil))
	g.press("Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight")
	g.until(axis + ` !== window.axis && ` + axis + ` !== window.whole`)
	g.press("Escape")
	g.until(axis + ` === window.whole`)
	g.must(g.Eval(`(() => { const make = URL.createObjectURL; URL.createObjectURL = (b) => { if (b.type === 'image/png') window.saved = b; return make.call(URL, b) } })()`, nil))
	g.click(`.curve-one button[aria-label="Download loss as PNG"]`)
	g.until(`window.saved`)
	// Of what it shows more than its ground and its name is of another colour.
	g.must(g.UntilPromised(`createImageBitmap(window.saved).then(b => {
		const c = new OffscreenCanvas(b.width, b.height).getContext('2d')
		c.drawImage(b, 0, 0)
		const d = c.getImageData(0, 60, b.width, b.height - 60).data
		let other = 0
		for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - d[0]) + Math.abs(d[i + 2] - d[2]) > 60) other++
		return b.width > 400 && other > 300 && other < d.length / 8
	})`))
}
