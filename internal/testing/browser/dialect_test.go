package browser_test

import (
	"os"
	"testing"
)

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
		g.click(`[aria-label="Language and status words"]`)
		g.clickText(".menu button", name)
	}
	choose("mcli")
	g.until(row("broken") + `.includes('FAILED') && ` + row("broken") + `.includes('3 · ')`)
	g.visit("workloads/default/broken")
	g.until(`document.querySelector('.page-sub .said')?.innerText === '3 in Muster: Failed, Error'`)
	g.allPhases()
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

// What is said in the words of another platform has the colour that the platform
// gives the word, wherever it is said; equal words look equal, whatever they are
// of in Muster; and all of it can be read. Our own words keep our own colours.
func TestWordsHaveTheColoursOfTheirPlatform(t *testing.T) {
	w := newWorld(t)
	for _, d := range []string{
		`{name: runs, command: "sleep 1000", resources: {cpu: 0.05, gpu: 8}}`,
		`{name: waits, command: "true", resources: {cpu: 0.05, gpu: 1}}`,
		`{name: stays, command: "true", resources: {cpu: 0.05, gpu: 1}}`,
		`{name: done, command: "true", resources: {cpu: 0.05}}`,
		`{name: broken, command: "exit 3", resources: {cpu: 0.05}}`,
		`{name: again, command: "sleep 0.5; exit 3", retry: {limit: 3, backoff: 6m}, resources: {cpu: 0.05}}`,
		`{name: late, command: "sleep 1000", maxDuration: 1s, resources: {cpu: 0.05}}`,
	} {
		w.submit(d)
	}
	w.muster("stop", "stays", "--yes", "--wait")
	phases := map[string]string{"runs": "Running", "waits": "Queued", "stays": "Canceled", "done": "Completed", "broken": "Failed", "again": "Backoff", "late": "TimedOut"}
	for name, phase := range phases {
		w.muster("wait", name, "--for", phase, "--timeout", "60s")
	}
	axe, err := os.ReadFile("testdata/vendor/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{"runs": "Running", "waits": "Pending", "stays": "Pending", "done": "Succeeded", "broken": "Fail", "again": "Error", "late": "TimedOut"}
	tones := map[string]string{"#599b3e": "green", "#fd8608": "orange", "#0000ff": "blue", "#afafaf": "grey", "#fb0007": "red", "#d0d0d0": "pale"}
	g := w.enter(1280, 900)
	chip := func(name string) string {
		return `[...document.querySelectorAll('tbody tr')].find(r => r.querySelector('.row-link')?.innerText === '` + name + `')?.querySelector('.status')`
	}
	native := map[string]string{}
	for name, phase := range phases {
		g.until(chip(name) + `?.innerText === '` + phase + `'`)
		var tone string
		g.must(g.Eval(chip(name)+`.dataset.tone`, &tone))
		native[name] = tone
	}
	if native["runs"] != "running" || native["waits"] != "queued" || native["stays"] != "stopped" || native["broken"] != "failed" {
		t.Errorf("our own words have the tones %v", native)
	}

	g.click(`[aria-label="Language and status words"]`)
	g.clickText(".menu button", "Run:ai jobs")
	var colours map[string]string
	g.must(g.Eval(`fetch('/v1/lifecycle?dialect=runai-job').then(r => r.json()).then(l => Object.fromEntries(l.words.map(w => [w.status, w.color])))`, &colours))
	icon := func(name string) string { return chip(name) + `.querySelector('.icon').outerHTML` }
	for name, word := range words {
		tone := tones[colours[word]]
		if tone == "" {
			t.Fatalf("%s is %q", word, colours[word])
		}
		g.until(chip(name) + `?.innerText === '` + word + `' && ` + chip(name) + `.dataset.tone === '` + tone + `'`)
	}
	g.until(icon("waits") + ` === ` + icon("stays"))
	for _, scheme := range []string{"light", "dark"} {
		g.must(g.Prefer(scheme, true))
		g.accessible(string(axe), everyRule)
	}
	// On the page of each: in its heading, in the diagram, among its attempts and events.
	for _, scheme := range []string{"light", "dark"} {
		g.must(g.Prefer(scheme, true))
		g.visit("workloads/default/again")
		g.allPhases()
		g.until(`document.querySelector('.page-sub .status')?.dataset.tone === 'red' && document.querySelector('.station-said')?.dataset.tone === 'red'`)
		g.until(`[...document.querySelectorAll('.bit')].some(e => e.dataset.tone === 'green' && e.querySelector('title').textContent.startsWith('Running')) && [...document.querySelectorAll('.bit')].at(-1).dataset.tone === 'red'`)
		g.until(`document.querySelector('[aria-label="Attempts"] .status').innerText === 'Error' && document.querySelector('[aria-label="Attempts"] .status').dataset.tone === 'red'`)
		g.accessible(string(axe), everyRule)
		g.laidOut("in Run:ai's words")
	}
	g.until(`document.querySelector('.page-sub .said').innerText.startsWith('resources: Yes, of interactive jobs')`)
	g.visit("workloads/default/again?tab=events")
	g.until(`(() => { const all = [...document.querySelectorAll('.events .status')].map(e => e.innerText + ' ' + e.dataset.tone); return all[0] === 'Error red' && all.at(-1) === 'Pending orange' && all.includes('Running green') })()`)
	// A platform that has no colours has one for each word all the same.
	for _, dialect := range []string{"Run:ai workloads", "jobq", "mcli", "ModelArts"} {
		g.visit("workloads")
		g.click(`[aria-label="Language and status words"]`)
		g.clickText(".menu button", dialect)
		g.until(`(() => {
			const seen = new Map(), all = [...document.querySelectorAll('tbody .status')]
			const same = all.every(e => { const look = e.dataset.tone + e.querySelector('.icon').outerHTML; const had = seen.get(e.innerText) ?? look; seen.set(e.innerText, look); return had === look })
			return all.length === 7 && same && seen.size < 7 && !seen.has('Canceled') && !seen.has('Backoff')
		})()`)
		g.accessible(string(axe), everyRule)
		g.laidOut("in the words of " + dialect)
		g.visit("workloads/default/broken")
		g.allPhases()
		g.until(`document.querySelector('.station-said')`)
		g.laidOut("a workload in the words of " + dialect)
		g.must(g.Resize(380, 900))
		g.laidOut("a workload in the words of " + dialect + ", narrow")
		g.visit("workloads")
		g.laidOut("in the words of " + dialect + ", narrow")
		g.must(g.Resize(1280, 900))
	}
}

// Who asks for what was deleted sees that, and nothing that was only stopped before
// it began and can be resumed; and looks at it, though another has its name by now.
func TestWhatWasDeletedIsFound(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: holds, command: "sleep 1000", resources: {cpu: 0.05, gpu: 8}}`)
	w.muster("wait", "holds", "--for", "Running", "--timeout", "60s")
	w.submit(`{name: stays, command: "true", resources: {cpu: 0.05, gpu: 1}}`)
	w.submit(`{name: gone, command: "echo it was here", resources: {cpu: 0.05}}`)
	w.submit(`{name: never, command: "true", resources: {cpu: 0.05, gpu: 1}}`)
	w.muster("wait", "gone", "--for", "Completed", "--timeout", "60s")
	w.muster("stop", "stays", "--yes", "--wait")
	g := w.enter(1280, 800)
	g.click(`[aria-label="Language and status words"]`)
	g.clickText(".menu button", "Run:ai jobs")
	g.until(row("stays") + `.includes('Pending')`)
	w.muster("delete", "gone", "never", "--yes", "--wait")

	list := `[...document.querySelectorAll('tbody tr')].map(r => r.querySelector('.row-link').innerText + ' ' + r.querySelector('.status').innerText).join()`
	g.visit("workloads?q=status:deleted")
	g.until(list + ` === 'never Deleted,gone Deleted'`)
	g.until(`document.querySelector('.page-sub').innerText.trim() === '2 of 4 workloads'`)
	g.visit("workloads?q=status:pending")
	g.until(list + ` === 'stays Pending'`)
	g.visit("workloads")
	g.until(list + ` === 'stays Pending,holds Running'`)

	w.submit(`{name: gone, command: "echo another; sleep 1000", resources: {cpu: 0.05}}`) // of the same name
	w.muster("wait", "gone", "--for", "Running", "--timeout", "60s")
	g.visit("workloads?q=status:deleted")
	w.muster("delete", "stays", "--yes", "--wait") // while somebody looks
	g.until(list + ` === 'never Deleted,gone Deleted,stays Deleted'`)
	g.clickText(".row-link", "gone")
	g.until(`document.querySelector('h1')?.innerText === 'gone' && document.querySelector('.page-sub .status')?.innerText === 'Deleted'`)
	g.until(`[...document.querySelectorAll('[aria-label="Attempts"] tbody tr')].length === 1`)
	g.clickText(`[aria-label="Attempts"] a`, "Open")
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Deleted' && document.querySelector('h1').innerText === 'gone'`)

	// jobq goes on saying of what had ended how it had ended.
	g.click(`[aria-label="Language and status words"]`)
	g.clickText(".menu button", "jobq")
	g.visit("workloads?q=status:deleted")
	g.until(list + ` === 'never Failed,gone Succeeded,stays Failed'`)
}
