package browser_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/testing/browser"
)

// A browser has six connections to a server, and people have more tabs: one of
// them has the stream, and the others hear of it.
func TestManyTabsHaveOneStream(t *testing.T) {
	w := newWorld(t)
	submit := func(name string) {
		t.Helper()
		w.submit(`{name: ` + name + `, command: "sleep 1000", resources: {cpu: 0.1}}`)
	}
	submit("first")
	g := w.enter(1280, 800)
	tabs := []*page{g}
	for range 7 {
		tabs = append(tabs, g.another("workloads"))
	}
	all := func(name string) {
		t.Helper()
		for _, tab := range tabs {
			tab.until(row(name) + `.includes('Running')`)
			tab.until(`document.querySelector('.live').dataset.state === 'live'`)
		}
	}
	all("first")
	submit("second")
	all("second")

	// A tab that comes later knows what is beside the workloads, too.
	last := tabs[7]
	last.visit("nodes")
	last.until(`document.querySelector('tbody tr')`)
	last.visit("workloads")

	// The one that has it is closed; another one goes on where it was.
	g.must(g.CloseTab())
	tabs = tabs[1:]
	submit("third")
	all("third")

	// Nobody tells a tab that sleeps; it sees by itself that it has missed something.
	deaf := tabs[3]
	deaf.must(deaf.Call("Page.setWebLifecycleState", map[string]string{"state": "frozen"}))
	submit("fourth")
	tabs[0].until(row("fourth") + `.includes('Running')`)
	deaf.must(deaf.Call("Page.setWebLifecycleState", map[string]string{"state": "active"}))
	all("fourth")

	w.stop()
	w.start()
	submit("fifth")
	all("fifth")
}

// A followed log has a connection of its own: only where it is seen.
func TestLogsThatNobodySeesAreNotRead(t *testing.T) {
	w := newWorldInWhole(t)
	w.submit(`{name: talker, command: "for i in $(seq 100000); do echo line $i; sleep 0.2; done", resources: {cpu: 0.1}}`)
	g := w.enter(1280, 800)
	g.until(row("talker") + `.includes('Running')`)
	tabs := []*page{}
	const last = `Number([...document.querySelectorAll('.log-line')].at(-1)?.innerText.match(/line (\d+)/)?.[1] ?? 0)`
	for range 8 {
		tab := g.another("workloads/default/talker?tab=logs")
		tab.until(last + ` > 0`)
		tabs = append(tabs, tab)
	}
	hidden := false // asked without bringing it to the front, as until does where there is one window for all
	for deadline := time.Now().Add(browser.Patience); !hidden && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		tabs[0].must(tabs[0].Eval(`document.hidden`, &hidden))
	}
	if !hidden {
		t.Fatal("a tab behind seven others is seen")
	}
	var seen int
	tabs[7].must(tabs[7].Eval(last, &seen))
	tabs[0].must(tabs[0].Front())
	tabs[0].until(last + ` > ` + strconv.Itoa(seen))
}
