package audit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/audit"
)

func TestAnEntryIsAMessageOfSyslog(t *testing.T) {
	e := core.AuditEntry{
		Seq: 7, At: time.Date(2026, 3, 4, 5, 6, 7, 8_000, time.FixedZone("", 3600)), Actor: "user:ann", Address: "10.0.0.1", Action: "POST /v1/pools",
		Verb: "create", Noun: "pools", Object: "a\"b]c\\d\ne\u00fc", Result: core.AuditDone, Previous: "aa", Hash: "bb",
		Changes: []core.AuditChange{{Object: "pool x", After: `{"name":"x"}`}},
	}
	want := `<109>1 2026-03-04T04:06:07.000008Z host.example muster 42 audit [audit@32473 seq="7" actor="user:ann" address="10.0.0.1" action="POST /v1/pools" ` +
		`verb="create" noun="pools" object="a\"b\]c\\d e` + "\u00fc" + `" result="done" previous="aa" hash="bb"] ` + "\ufeff"
	got := string(audit.Syslog(&e, audit.Sender{Host: "host.example", PID: 42}, 8192))
	text, ok := strings.CutPrefix(got, want)
	if !ok {
		t.Fatalf("%q\nwant it to begin %q", got, want)
	}
	var back core.AuditEntry
	if err := json.Unmarshal([]byte(text), &back); err != nil || back.Changes[0] != e.Changes[0] || back.Object != e.Object {
		t.Errorf("its text is %q, %v", text, err)
	}
	e.Result = core.AuditRefused
	if got := string(audit.Syslog(&e, audit.Sender{Host: "not a name"}, 8192)); !strings.HasPrefix(got, "<108>1 2026-03-04T04:06:07.000008Z - muster 0 audit ") {
		t.Errorf("a refusal by somebody without a name is %q", got)
	}
}

// TestALongEntryIsCut, and says so: what it was about before what it was about it.
func TestALongEntryIsCut(t *testing.T) {
	const most = 8192
	many := core.AuditEntry{Seq: 1, Actor: "user:ann", Result: core.AuditDone}
	for i := range 1000 {
		many.Changes = append(many.Changes, core.AuditChange{Object: fmt.Sprintf("workload %d", i), After: strings.Repeat("x", 100)})
	}
	got := string(audit.Syslog(&many, audit.Sender{}, most))
	if len(got) > most || len(got) < most/4 || !strings.Contains(got, ` cut="1000 changes"]`) || !strings.Contains(got, "workload 0") || strings.Contains(got, "xxx") {
		t.Errorf("%d bytes: %.300q", len(got), got)
	}
	if !json.Valid([]byte(got[strings.Index(got, "\ufeff")+3:])) {
		t.Errorf("its text is not JSON: %q", got)
	}
	long := core.AuditEntry{Seq: 1, Actor: "user:ann", Object: strings.Repeat("\u00fc", 5000), Message: strings.Repeat("\u00fc", 9000), Result: core.AuditRefused}
	for room := most; room < most+2; room++ {
		got = string(audit.Syslog(&long, audit.Sender{}, room))
		if len(got) > room || len(got) < room-1 || !utf8.ValidString(got) {
			t.Errorf("%d bytes of %d, valid %v", len(got), room, utf8.ValidString(got))
		}
	}
}

// TestLinesAreAChain that whoever gets them can follow.
func TestLinesAreAChain(t *testing.T) {
	all, head := chain(3)
	var back []core.AuditEntry
	for line := range strings.Lines(string(audit.Lines(all))) {
		var e core.AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		back = append(back, e)
	}
	if b := verify(back, head); b != nil || len(back) != 3 {
		t.Errorf("%d lines, %+v", len(back), b)
	}
}

func TestPausesGrowToAMinute(t *testing.T) {
	for failed, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 6: 32 * time.Second, 7: time.Minute, 1_000_000: time.Minute} {
		if got := audit.Pause(failed); got != want {
			t.Errorf("after %d failures %v, want %v", failed, got, want)
		}
	}
}
