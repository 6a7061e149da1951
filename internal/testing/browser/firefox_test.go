package browser_test

import (
	"testing"

	"github.com/musterhq/muster/internal/testing/browser"
)

// inFirefox is how the names of journeys begin that are made in Firefox.
const inFirefox = "TestInFirefox/"

// Journeys that are made in Chromium are made in Firefox, too: of each thing that people
// do there is one. MUSTER_BROWSER=firefox has all others do so.
func TestInFirefox(t *testing.T) {
	if everywhere {
		t.Skip("MUSTER_BROWSER=firefox has these journeys in Firefox already, as tests of their own")
	}
	for name, journey := range map[string]func(*testing.T){
		"SignIn": TestWhoeverIsLoggedOutComesBackToWhereTheyWere, "SubmitAndMend": TestSubmittingWithFormAndYAML, "Watch": TestAWorkloadIsSeenFromSubmissionToItsEnd,
		"Logs": TestALogIsSearchedWhole, "Why": TestFindingWhyItWaits, "SuspendResumeUndo": TestWhatCanBeUndoneIs, "Bulk": TestWorkloadsAreChosenAndStoppedTogether,
		"Compare": TestComparingWorkloads, "Queue": TestApprovingWhereTheReasonStands, "Settings": TestSettings, "Charts": TestCurvesAreSmoothedAndSaved,
	} {
		t.Run(name, journey)
	}
}

// What people do most goes in Firefox, too: one server, one tab, from the login to the map.
func TestFirefox(t *testing.T) {
	w := newWorldIn(t, fox.browser(t, browser.StartFirefox))
	g := w.enter(1280, 800)
	phase := func(p string) {
		t.Helper()
		g.until(`document.querySelector('.page-sub .status')?.innerText.startsWith('` + p + `')`)
	}
	more := func(act string) {
		t.Helper()
		g.click(`.page-actions [aria-label="More"]`)
		g.clickText(".menu button", act)
	}
	g.shows("No workloads yet")
	// Submitted with the form, by keys.
	g.press("g", "s")
	g.until(`document.querySelector('h1').innerText === 'Submit' && ` + planned)
	g.rewrite("yaml", "name: first\ncommand: echo out of the fox; sleep 1000\nresources: {gpu: 6, cpu: 0.1}\n")
	g.until(field("name") + `.value === 'first' && ` + planned)
	g.must(g.Eval(field("name")+`.focus(); `+field("name")+`.select()`, nil))
	g.write("second")
	g.until(yamlText + `.includes('name: second') && ` + planned)
	g.clickText("button", "Submit")
	g.until(`location.pathname.endsWith('/workloads/default/second')`)
	phase("Running")
	// Its log, which is followed and searched.
	g.press("l")
	g.until(`document.querySelector('.log-text')?.innerText.trim() === 'out of the fox'`)
	g.press("/")
	g.write("fox")
	g.until(`document.querySelector('.found')?.innerText.includes('1')`)
	g.press("Escape")
	// Another one waits, and why is said; it is held and let go.
	w.submit(`{name: waits, command: "sleep 1000", resources: {gpu: 4, cpu: 0.1}}`)
	g.press("g", "q")
	g.until(`document.querySelector('h1').innerText === 'Queue'`)
	g.clickText(".queue-name", "waits")
	g.until(`document.querySelector('.queue-side')?.innerText.includes('needs 4 GPUs, free 2 GPUs')`)
	g.visit("workloads/default/waits")
	phase("Queued")
	more("Hold")
	phase("Inadmissible")
	more("Release")
	phase("Queued")
	// A terminal beside a task.
	g.visit("workloads/default/second?tab=terminal")
	g.until(`document.querySelector('.terminal-frame[data-state=open]')`)
	g.click(".terminal-box")
	g.write("echo fox $((6*7))")
	g.press("Enter")
	g.until(screenText + `.includes('fox 42')`)
	// Who has which GPU.
	g.visit("map")
	g.until(`document.querySelectorAll('.bench-gpu').length === 8 && document.querySelectorAll('.bench-by a').length === 6 && document.querySelector('.map-side').innerText.includes('second')`)
	// What is stopped says so by itself in the list.
	g.visit("workloads")
	g.until(row("second") + `.includes('Running')`)
	w.muster("stop", "second", "--yes")
	g.until(`!` + row("second") + `.includes('Running') && ` + row("waits") + `.includes('Running')`)
}
