package browser_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
)

// What ran and could not be published is told as that: a failure, of an attempt that
// ran as long as it ran; and nothing of its way is cut off.
func TestAPublicationThatFails(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	registry := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		http.Error(rw, "this one is not let in", http.StatusForbidden)
	}))
	t.Cleanup(registry.Close)
	w.submit(`{name: made, workdir: ` + t.TempDir() + `, resources: {cpu: 0.1}, command: "mkdir out && echo weights > out/w",
  publish: {model: out, target: "` + strings.TrimPrefix(registry.URL, "http://") + `/models/made:1"}}`)
	w.muster("wait", "made", "--for", "Publishing", "--timeout", "60s")

	g := w.enter(1280, 800)
	g.visit("workloads/default/made")
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Publishing'`)
	// Long enough that it cannot be taken for how long it ran.
	g.until(`fetch('/v1/projects/default/workloads/made').then(r => r.json()).then(w => { const a = w.attempts[0]; return Date.now() - Date.parse(a.endedAt) > 2 * (Date.parse(a.endedAt) - Date.parse(a.runningAt)) + 3000 })`)
	g.allPhases()
	const whole = `(() => {
		const svg = document.querySelector('.course svg'), box = svg.getBoundingClientRect()
		const parts = [...svg.querySelectorAll('.station circle, .station text')].map(e => e.getBoundingClientRect())
		return parts.length > 10 && svg.textContent.includes('Publishing') && parts.every(r => r.top >= box.top - 1 && r.bottom <= box.bottom + 1)
	})()`
	g.until(whole)
	const fact = `[...document.querySelectorAll('.facts > div')].find(d => d.innerText.startsWith('Run time'))?.querySelector('dd').innerText`
	const cell = `document.querySelector('[aria-label="Attempts"] tbody tr').children`
	g.until(fact + ` === ` + cell + `[4].innerText`)

	close(release)
	w.muster("wait", "made", "--for", "Failed", "--timeout", "60s")
	g.until(`document.querySelector('.page-sub .status')?.innerText === 'Failed'`)
	g.until(whole)
	g.until(fact + ` === ` + cell + `[4].innerText && ` + cell + `[5].innerText === '0'`)
	const became = `document.querySelector('[aria-label="Attempts"] tbody .status')`
	g.until(became + `.innerText === 'Failed' && ` + became + `.dataset.tone === 'failed' && ` + cell + `[1].innerText.includes('SubmitModelFailed')`)
	g.click(`[aria-label="Language and status words"]`)
	g.clickText(".menu button", "ModelArts")
	g.until(became + `.innerText === 'JOBSTAT_SUBMIT_MODEL_FAILED' && ` + became + `.dataset.tone === 'failed'`)
	var ran string
	g.must(g.Eval(fact, &ran))
	g.visit("workloads")
	g.until(`[...document.querySelectorAll('tbody td')].some(e => e.innerText.trim() === ` + quoted(ran) + `)`)
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// Who was tried again ran as long as all attempts did, not as long as they and what
// was between them; an attempt that failed is said to have failed.
func TestAttemptsRanAsLongAsTheyRan(t *testing.T) {
	w := newWorld(t)
	w.submit(`{name: twice, resources: {cpu: 0.1}, retry: {limit: 1, backoff: 3s}, command: "sleep 0.5; exit $((1 - MUSTER_ATTEMPT))"}`)
	w.muster("wait", "twice", "--for", "Completed", "--timeout", "60s")
	var is api.Workload
	if err := json.Unmarshal([]byte(w.muster("get", "twice", "-o", "json")), &is); err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, a := range is.Attempts {
		want += time.Time(*a.EndedAt).Sub(time.Time(*a.RunningAt)).Seconds()
	}
	g := w.enter(1280, 800)
	var rows api.RowList
	g.must(g.Eval(`fetch('/v1/projects/-/rows').then(r => r.json())`, &rows))
	if len(rows.Items) != 1 || len(is.Attempts) != 2 || want <= 0 || math.Abs(rows.Items[0].Ran-want) > 0.01 || rows.Items[0].RunningAt != nil {
		t.Errorf("two attempts ran %v seconds, and the row says %+v", want, rows.Items)
	}
	g.visit("workloads/default/twice")
	g.until(`[...document.querySelectorAll('[aria-label="Attempts"] tbody .status')].map(e => e.innerText + ' ' + e.dataset.tone).join() === 'Failed failed,Completed completed'`)
	var ran string
	g.must(g.Eval(`[...document.querySelectorAll('.facts > div')].find(d => d.innerText.startsWith('Run time'))?.querySelector('dd').innerText`, &ran))
	g.visit("workloads")
	g.until(row("twice") + `.split(/\s*\n\s*|\t/).includes(` + quoted(ran) + `)`)

	// While one runs, it goes on from what the others ran.
	w.submit(`{name: goes, resources: {cpu: 0.1}, command: "sleep 1000"}`)
	w.muster("wait", "goes", "--for", "Running", "--timeout", "60s")
	g.until(`fetch('/v1/projects/-/rows').then(r => r.json()).then(l => l.items.some(r => r.name === 'goes' && r.runningAt && !r.ranSeconds))`)
	g.until(`(() => {
		const at = [...document.querySelectorAll('thead th')].findIndex(e => e.innerText.trim() === 'Run time')
		const row = [...document.querySelectorAll('tbody tr')].find(r => r.querySelector('.row-link')?.innerText === 'goes')
		return /^[1-9]\d*s$/.test(row.children[at].innerText.trim())
	})()`)
}
