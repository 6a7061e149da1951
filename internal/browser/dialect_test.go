package browser_test

import "testing"

// In the words of another platform there is its reason and its number, too, with
// ours beside them: in the list, in the heading and in the diagram.
func TestWordsOfOtherPlatforms(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: broken, command: "exit 3", resources: {cpu: 0.1}}`)
	w.muster("wait", "broken", "--for", "Failed", "--timeout", "60s")
	g := w.enter(1280, 800)
	g.until(row("broken") + `.includes('Failed')`)
	choose := func(name string) {
		t.Helper()
		g.click(`[aria-label="Words for states"]`)
		g.clickText(".menu button", name)
	}
	choose("mcli")
	g.until(row("broken") + `.includes('FAILED') && ` + row("broken") + `.includes('3 · ')`)
	g.visit("workloads/default/broken")
	g.until(`document.querySelector('.page-sub .said')?.innerText === '3 in Muster: Failed, Error'`)
	g.until(`document.querySelector('.station-said')?.textContent === 'FAILED, 3'`)
	g.until(`[...document.querySelectorAll('.station title')].some(e => e.textContent.includes('mcli: RUNNING'))`)

	choose("ModelArts")
	g.until(`/^code \d+ in Muster: Failed/.test(document.querySelector('.page-sub .said')?.innerText)`)
	g.until(`/, code \d+$/.test(document.querySelector('.station-said')?.textContent)`)
	g.visit("workloads")
	g.until(`/code \d+/.test(` + row("broken") + `)`)
	choose("Muster")
	g.until(row("broken") + `.includes('Failed')`)
}
