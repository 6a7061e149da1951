package browser_test

import (
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
)

// catching has what a page saves kept in the page: the text of tables, and pictures.
const catching = `(() => { const make = URL.createObjectURL; URL.createObjectURL = (b) => { if (b.type === 'image/png') window.picture = b; if (b.type.startsWith('text/csv')) b.text().then(t => (window.table = t)); return make.call(URL, b) } })()`

// zoomsAndSaves tries what all charts have in common on a page of metrics with strips of
// six ranks: a stretch that is dragged over in one is shown by all, and goes away;
// strips and plots are saved as picture and table.
func zoomsAndSaves(g *page) {
	g.t.Helper()
	g.until(`document.querySelectorAll('.metrics .plot-frame svg').length > 1`)
	const w = `document.querySelector('.metrics .plot-whole')`
	g.until(`!` + w)
	// Less than a few steps are not zoomed into: that many have to be there first.
	for zoomed, begun := false, time.Now(); !zoomed; time.Sleep(200 * time.Millisecond) {
		if time.Since(begun) > browser.Patience {
			g.t.Fatal("what is dragged over is not looked at")
		}
		g.must(g.Drag(".metrics .plot-frame", 0.5, 0.9))
		g.must(g.Eval(`Boolean(`+w+`)`, &zoomed))
	}
	// Each plot says so, and none shows the rest any more.
	g.until(`document.querySelectorAll('.metrics .plot-whole').length === document.querySelectorAll('.metrics .plot-frame').length`)
	g.must(g.Eval(`document.querySelector('.metrics .plot-frame').focus()`, nil))
	g.press("ArrowLeft")
	// The pointer is shared: strips show where it is, too.
	g.until(`document.querySelector('.heat-board .cross')`)
	g.press("Escape", "Escape")
	g.until(`!` + w)
	g.press("+")
	g.until(w)
	g.press("-", "-")
	g.until(`!` + w)
	g.must(g.Eval(catching, nil))
	g.click(`button[aria-label="Download Each rank over time as CSV"]`)
	g.until(`window.table?.startsWith('time,rank,node,value') && window.table.includes('worker 2')`)
	g.click(`button[aria-label="Download Each rank over time as PNG"]`)
	g.until(`window.picture`)
	// The strips, which a canvas draws, are in the picture: more than letters have a color.
	g.must(g.UntilPromised(`createImageBitmap(window.picture).then(b => {
		const c = new OffscreenCanvas(b.width, b.height).getContext('2d')
		c.drawImage(b, 0, 0)
		const d = c.getImageData(120, 60, b.width - 140, 100).data
		let other = 0
		for (let i = 0; i < d.length; i += 4) if (Math.abs(d[i] - 255) + Math.abs(d[i + 1] - 255) > 12) other++
		return b.width > 400 && other > d.length / 80
	})`))
	g.must(g.Eval(`window.table = null`, nil))
	g.click(`button[aria-label="Download CPU cores as CSV"]`)
	g.until(`window.table?.startsWith('time,metric,role,task') && window.table.includes('cpu_cores')`)
}

// The overview's trend and the columns of usage are zoomed and saved like any other chart.
func TestChartsOfTheClusterAreZoomedAndSaved(t *testing.T) {
	w := newWorld(t, "--sample-every", "1s")
	w.submit(`{name: busy, resources: {gpu: 2, cpu: 0.1}, command: "sleep 1000"}`)
	w.muster("wait", "busy", "--for", "Running", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.visit("overview")
	g.until(`document.querySelector('.plot-frame svg .line')`)
	g.must(g.Eval(catching, nil))
	g.must(g.Drag(".plot-frame", 0.4, 0.8))
	g.until(`document.querySelector('.plot-whole')`)
	g.click(".plot-whole")
	g.until(`!document.querySelector('.plot-whole')`)
	g.click(`button[aria-label="Download GPUs over time as CSV"]`)
	g.until(`window.table?.startsWith('time,GPUs,Allocated')`)
	g.click(`button[aria-label="Download GPUs over time as PNG"]`)
	g.until(`window.picture`)
	g.visit("usage")
	g.until(`document.querySelector('.usage .plot-frame .block, .plot-frame .block')`)
	g.must(g.Eval(catching, nil))
	g.must(g.Drag(".plot-frame", 0.5, 0.99))
	g.until(`document.querySelector('.plot-whole') && document.querySelector('.plot-frame .block')`)
	g.must(g.Eval(`document.querySelector('.plot-frame').focus()`, nil))
	g.press("Escape")
	g.until(`!document.querySelector('.plot-whole')`)
	g.click(`button[aria-label="Download GPU-hours over time as CSV"]`)
	g.until(`window.table?.startsWith('from,')`)
	g.visit("nodes/" + w.node())
	g.until(`document.querySelector('.course-of .plot-frame svg .line')`)
	g.must(g.Eval(catching, nil))
	g.click(`.course-of button[aria-label$="as CSV"]`)
	g.until(`window.table?.startsWith('time,')`)
}
