package browser_test

import (
	"fmt"
	"regexp"
	"testing"
)

// Whoever waits is told one start, with one range, wherever he looks: on the
// overview, in the list, in the queue and on its page.
func TestAStartIsTheSameEverywhere(t *testing.T) {
	w := newWorld(t)
	for i := range 2 { // two that end at different times, so that there is a range
		w.submit(fmt.Sprintf("name: long-%d\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 4}\nmaxDuration: %dh\npreemptible: false", i, 2+3*i))
	}
	w.submit("name: next\ncommand: sleep 1000\nresources: {cpu: 0.1, gpu: 8}\nmaxDuration: 1h")
	g := w.enter(1280, 800)
	said := func(selector string) (text, title string) {
		t.Helper()
		g.until(`document.querySelector(` + "`" + selector + "`" + `)?.innerText.includes('~')`)
		g.must(g.Eval(`document.querySelector(`+"`"+selector+"`"+`).innerText`, &text))
		g.must(g.Eval(`document.querySelector(`+"`"+selector+"`"+`).title`, &title))
		return text, title
	}
	clock := regexp.MustCompile(`\d\d:\d\d`)
	g.visit("workloads")
	_, list := said(`tbody .where .start`)
	g.visit("overview")
	_, overview := said(`.lines .start`)
	g.visit("queue")
	_, queue := said(`.queue-table .start`)
	if list == "" || list != overview || list != queue {
		t.Errorf("the list says %q, the overview %q, the queue %q", list, overview, queue)
	}
	g.visit("workloads/default/next")
	var page string
	g.until(`document.querySelector('.expect')`)
	g.must(g.Eval(`document.querySelector('.expect').innerText`, &page))
	has := map[string]bool{}
	for _, m := range clock.FindAllString(page, -1) {
		has[m] = true
	}
	for _, m := range clock.FindAllString(list, -1) {
		if !has[m] {
			t.Errorf("the page does not say %s: %q, the lists %q", m, page, list)
		}
	}
	t.Logf("%q, %q", list, page)
}
