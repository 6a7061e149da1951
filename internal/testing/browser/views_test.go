package browser_test

import "testing"

// A view is filter, order and columns under a name; its address shows the same to
// somebody who has other columns.
func TestSavedViews(t *testing.T) {
	w := newWorldInWhole(t)
	for _, name := range []string{"alpha", "beta", "gamma"} {
		w.submit(`{name: ` + name + `, command: "true", resources: {cpu: 0.1}}`)
	}
	g := w.enter(1400, 800)
	g.until(row("gamma"))
	const shown = `[...document.querySelectorAll('.row-link')].map(e => e.innerText).join()`
	const heads = `[...document.querySelectorAll('thead th')].map(e => e.innerText.trim()).filter(Boolean).join()`
	g.press("/")
	g.write("-beta")
	g.press("Enter")
	g.click(`thead th[data-column="name"] button, thead th button`)
	g.until(shown + ` === 'alpha,gamma'`)
	g.click(`[aria-label="Columns"]`)
	g.clickText(".menu button", "Kind")
	g.click(`[aria-label="Columns"]`)
	g.until(heads + `.includes('Kind')`)

	g.click(`[aria-label="Views"]`)
	g.clickText(".menu button", "Save this view")
	g.input("name", "no beta")
	g.clickText("dialog button", "Save")
	g.shows("Saved no beta")

	g.click(`[aria-label="Columns"]`)
	g.clickText(".menu button", "Kind")
	g.click(`[aria-label="Columns"]`)
	g.until(`!` + heads + `.includes('Kind')`)
	g.visit("workloads")
	g.until(shown + ` === 'gamma,beta,alpha'`)
	g.click(`[aria-label="Views"]`)
	g.clickText(".menu button", "no beta")
	g.until(shown + ` === 'alpha,gamma' && ` + heads + `.includes('Kind')`)
	var link string
	g.must(g.Eval(`location.href`, &link))

	other := w.enter(1400, 800) // another browser, which has saved nothing
	other.must(other.Open(link))
	other.until(shown + ` === 'alpha,gamma' && ` + heads + `.includes('Kind')`)
	g.click(`[aria-label="Views"]`)
	g.clickText(".menu button", "Copy link")
	g.shows("Copied the link")
	g.click(`[aria-label="Views"]`)
	g.clickText(".menu button", "Delete “no beta”")
	g.click(`[aria-label="Views"]`)
	g.until(`![...document.querySelectorAll('.menu button')].some(b => b.innerText === 'no beta')`)
}
