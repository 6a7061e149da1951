package browser_test

import (
	"strings"
	"testing"
)

// The pages are in the first language of the browser's that there is, until one is
// chosen; the choice is kept.
func TestThePagesAreInTheLanguageOfTheBrowser(t *testing.T) {
	w := newWorld(t)
	g := w.newPage(1280, 800)
	g.must(g.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `Object.defineProperty(navigator, 'languages', { get: () => ['fr', 'de-AT', 'en'] })`}))
	link := w.link()
	w.url = link[:strings.Index(link, "/ui/")]
	g.must(g.Open(link))
	in := func(language, queue string) {
		t.Helper()
		g.until(`document.documentElement.lang === '` + language + `' && [...document.querySelectorAll('.nav a')].some(e => e.innerText === '` + queue + `')`)
	}
	choose := func(menu, language string) {
		t.Helper()
		g.click(`[aria-label="` + menu + `"]`)
		g.clickText(".menu button", language)
	}
	in("de", "Warteschlange")
	choose("Sprache und Statuswörter", "English")
	in("en", "Queue")
	g.visit("queue")
	in("en", "Queue")
	choose("Language and status words", "As the browser")
	in("de", "Warteschlange")
	g.visit("overview")
	g.shows("Letzte Fehlschläge")
	// What is chosen is what the server knows, whatever it is called.
	g.visit("settings?tab=notifications")
	g.clickText("button", "Neue Benachrichtigung")
	g.until(`document.querySelector('dialog select option[value="email"]')`)
	g.must(g.Eval(`(() => { const e = document.querySelector('dialog select'); e.value = 'email'; e.dispatchEvent(new Event('change', {bubbles: true})) })()`, nil))
	g.until(`[...document.querySelectorAll('dialog label')].some(e => e.innerText === 'email')`)
}
