package system

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
)

// TestTheAuditLogIsHandedOnOverKills: without access control, to a webhook that refuses
// some of what it is sent, while the server is killed. In the end it has every entry,
// in a chain whose head is the server's.
func TestTheAuditLogIsHandedOnOverKills(t *testing.T) {
	var mu sync.Mutex
	got, asked := map[int64]core.AuditEntry{}, 0
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if asked++; err != nil || asked%3 == 1 { // a server that is killed sends half of it
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		for line := range strings.Lines(string(body)) {
			var e core.AuditEntry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Errorf("%q came: %v", line, err)
			}
			if before, ok := got[e.Seq]; ok && before.Hash != e.Hash {
				t.Errorf("entry %d came as two", e.Seq)
			}
			got[e.Seq] = e
		}
	}))
	defer hook.Close()
	ctx := context.Background()
	args := []string{"--audit-webhook", hook.URL}
	s := start(t, args...)
	if _, err := s.conn.Access.SwitchAudit(ctx, true); err != nil {
		t.Fatal(err)
	}
	const kills, each = 3, 10
	for k := range kills {
		for i := range each {
			if _, err := s.conn.Projects.Create(ctx, api.NewProject{Name: fmt.Sprintf("p-%d-%d", k, i)}); err != nil {
				t.Fatal(err)
			}
		}
		s.kill()
		s = startIn(t, s.dir, args...)
	}
	v, err := s.conn.Access.VerifyAudit(ctx, "")
	if err != nil || !v.Intact || v.Entries != 1+kills*each {
		t.Fatalf("the log is %+v, %v", v, err)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		n := len(got)
		mu.Unlock()
		if n == int(v.Entries) {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %d entries came", n, v.Entries)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	head := audit.Head{}
	for seq := int64(1); seq <= v.Entries; seq++ {
		e := got[seq]
		if b := audit.Follow(&e, head); b != nil {
			t.Fatalf("what came is no chain: %+v", b)
		}
		head = audit.Head{Seq: e.Seq, Hash: e.Hash}
	}
	if text := fmt.Sprintf("%d:%s", head.Seq, head.Hash); text != v.Head {
		t.Errorf("what came ends with %s, the log with %s", text, v.Head)
	}
}
