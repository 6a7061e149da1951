package browser_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/musterhq/muster/api"
)

// A link is made on the page of a workload, and shows it to a browser that is logged in
// nowhere, without a script; once it is revoked it shows nothing.
func TestALinkIsMadeOpenedAndRevoked(t *testing.T) {
	w := newWorld(t, "--share-links")
	told := filepath.Join(t.TempDir(), "told")
	w.submit(fmt.Sprintf(`{name: gpt, resources: {cpu: 0.05}, command: `+"%q"+`}`, fmt.Sprintf(handing, told)+"echo told by the task; sleep 1000"))
	w.muster("wait", "gpt", "--for", "Running")
	h, total := tellerOf(t, told), int64(10)
	for i := range int64(3) {
		h.say("report", api.Report{Step: i + 1, Total: total, Metrics: map[string]float64{"loss": float64(9 - i), "acc": float64(i)}})
	}
	g := w.enter(1280, 800)
	g.visit("workloads/default/gpt")
	g.until(`document.querySelectorAll('.curve').length >= 2`)
	g.click(`button[aria-label="More"]`)
	g.clickText("button", "Share…")
	g.until(`document.querySelector('dialog select')`)
	g.clickText("dialog label", "Also show the end of its output")
	g.clickText("dialog button", "Create link")
	g.until(`document.querySelector('.share-link')?.value.includes('/share/')`)
	var link string
	g.must(g.Eval(`document.querySelector('.share-link').value`, &link))
	s := w.newPage(380, 800)
	s.must(s.Open(link))
	s.until(`document.querySelector('h1').innerText === 'gpt' && document.querySelectorAll('polyline').length === 2 && document.querySelector('.bar')`)
	s.until(`getComputedStyle(document.querySelector('figure')).borderRadius === '10px' && document.scripts.length === 0 && document.documentElement.scrollWidth <= innerWidth`)
	s.until(`document.querySelector('.log pre').innerText.includes('told by the task')`)
	if out := w.muster("share", "--list"); !strings.Contains(out, "default/gpt") {
		t.Error(out)
	}
	g.press("Escape")
	g.click(`button[aria-label="More"]`)
	g.clickText("button", "Share…")
	g.until(`document.querySelector('.share-links')?.innerText.includes('opened 1 times')`)
	g.clickText("dialog button", "Revoke")
	g.shows("Link revoked")
	s.must(s.Open(link + "?again"))
	s.until(`document.body.innerText.includes('shows nothing')`)
}
