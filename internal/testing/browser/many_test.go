package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
)

// bulk submits many documents at once over the server's socket.
func (w *world) bulk(docs []map[string]any) {
	w.t.Helper()
	body, err := json.Marshal(docs)
	if err != nil {
		w.t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(w.dir, "muster.sock"))
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Post("http://muster/v1/workloads:bulk", "application/json", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || bytes.Contains(text, []byte(`"problem"`)) {
		w.t.Fatalf("%s: %.500s", resp.Status, text)
	}
}

// With ten thousand workloads the list is there as soon as with ten, because it
// asks for what is seen first; and only what is seen is in the document.
func TestTenThousandWorkloads(t *testing.T) {
	w := newWorld(t)
	const many = 10_000
	docs := make([]map[string]any, many)
	for i := range docs {
		docs[i] = map[string]any{"name": fmt.Sprintf("run-%05d", i), "command": "sleep 1000", "resources": map[string]any{"gpu": 8, "cpu": 0.1}, "labels": map[string]any{"batch": fmt.Sprint(i % 10)}}
	}
	w.bulk(docs)
	g := w.enter(1280, 800)
	g.until(`document.querySelector('tbody tr .row-link')`)
	g.visit("workloads")
	g.until(`document.querySelector('tbody tr .row-link')?.innerText === 'run-09999'`)
	g.until(`performance.getEntriesByName('first-rows').length > 0`) // marked with the next frame
	var shown float64
	g.must(g.Eval(`performance.getEntriesByName('first-rows')[0].startTime`, &shown))
	t.Logf("first rows after %.0f ms", shown)
	g.until(`document.querySelector('.page-sub').innerText.startsWith('10') && !document.querySelector('.page-sub').innerText.includes('loading')`)
	var rows int
	g.must(g.Eval(`document.querySelectorAll('tbody tr').length`, &rows))
	if rows > 80 {
		t.Errorf("%d rows are in the document", rows)
	}
	g.press("G") // to the last, which was loaded behind
	g.until(`[...document.querySelectorAll('.row-link')].some(e => e.innerText === 'run-00000')`)
	g.press("/")
	g.write("label.batch:3 run-0999")
	g.press("Enter")
	g.until(`[...document.querySelectorAll('.row-link')].map(e => e.innerText).join() === 'run-09993'`)
}
