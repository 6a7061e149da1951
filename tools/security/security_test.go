package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answered is what govulncheck says of a program with one weakness in a function and one
// only in a module.
const answered = `{"config":{"scanner_version":"v1","go_version":"go1.26.8"}}
{"osv":{"id":"GO-2026-0001","summary":"Panic somewhere"}}
{"finding":{"osv":"GO-2026-0001","fixed_version":"v1.2.4","trace":[{"module":"example.com/a","version":"v1.2.3"}]}}
{"finding":{"osv":"GO-2026-0001","fixed_version":"v1.2.4","trace":[{"module":"example.com/a","version":"v1.2.3","package":"example.com/a/b","function":"Do","receiver":"T"}]}}
{"finding":{"osv":"GO-2026-0002","fixed_version":"v1.2.4","trace":[{"module":"example.com/a","version":"v1.2.3","package":"example.com/a/c"}]}}
`

func TestWhatIsLinkedInFails(t *testing.T) {
	f, err := read(strings.NewReader(answered))
	if err != nil {
		t.Fatal(err)
	}
	err = judge(f, nil)
	for _, want := range []string{"GO-2026-0001", "Panic somewhere", "example.com/a v1.2.3, mended in v1.2.4", "example.com/a/b.T.Do", exceptionsFile} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%v: without %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "GO-2026-0002") {
		t.Errorf("no function of it is linked in: %v", err)
	}
	if err := judge(f, map[string]string{"GO-2026-0001": "it is asked about our own files alone"}); err != nil {
		t.Errorf("with a reason: %v", err)
	}
	err = judge(f, map[string]string{"GO-2026-0001": "a reason", "GO-2026-0003": "gone since", "GO-2026-0004": ofGo + " mended in another"})
	if err == nil || !strings.Contains(err.Error(), "GO-2026-0003 is linked in no more") || strings.Contains(err.Error(), "0004") {
		t.Errorf("a reason for nothing: %v", err)
	}
	for _, text := range []string{"", "{", `{"osv":{"id":"x"}}`} {
		if _, err := read(strings.NewReader(text)); err == nil {
			t.Errorf("%q is taken for an answer", text)
		}
	}
}

func TestExceptionsHaveReasons(t *testing.T) {
	for _, text := range []string{"GO-2026-1", "GO-2026-1 harmless", "CVE-1 it does not matter here", "GO-2026-1 it is fine"} {
		if _, err := exceptions(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	got, err := exceptions("# a word\n\nGO-2026-1 it is asked of our files\n")
	if err != nil || got["GO-2026-1"] != "it is asked of our files" || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	for _, file := range []string{"exceptions.txt", "gosec.txt"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if file == "gosec.txt" {
			_, err = reasonsOf(string(text))
		} else {
			_, err = exceptions(string(text))
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestTheDatabaseIsWhole makes the index of the pinned database; the module proxy has to
// have been reached once.
func TestTheDatabaseIsWhole(t *testing.T) {
	dir := t.TempDir()
	at, when, err := database(dir)
	if err != nil {
		t.Fatal(err)
	}
	if at != "file://"+dir || when.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%s of %v", at, when)
	}
	var modules []module
	text, err := os.ReadFile(filepath.Join(dir, "index", "modules.json"))
	if err == nil {
		err = json.Unmarshal(text, &modules)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		for _, v := range m.Vulns {
			if _, err := os.Stat(filepath.Join(dir, "ID", v.ID+".json")); err != nil {
				t.Errorf("%s has no report: %v", v.ID, err)
			}
			if m.Path == "golang.org/x/crypto" && v.ID == "GO-2022-0968" {
				return // a weakness of 2022 that everybody knows
			}
		}
	}
	t.Error("the index lacks what is known of golang.org/x/crypto")
}

func TestFindingsNeedReasons(t *testing.T) {
	reasons, err := reasonsOf("# a word\nG304 2 internal/a files of the server's own directory\nG304 1 internal/a/b/c.go a file that is named by us\n")
	if err != nil {
		t.Fatal(err)
	}
	spots := []spot{{"G304", "internal/a/x.go", "1", ""}, {"G304", "internal/a/b/y.go", "2", ""}, {"G304", "internal/a/b/c.go", "3", ""}}
	if err := unexplained(spots, reasons); err != nil {
		t.Errorf("all have reasons: %v", err)
	}
	for want, more := range map[string][]spot{
		"internal/ab/x.go:1: G304":                              append(spots[:3:3], spot{"G304", "internal/ab/x.go", "1", ""}),
		"internal/a/x.go:1: G101":                               append(spots[:3:3], spot{"G101", "internal/a/x.go", "1", ""}),
		"G304 internal/a has a reason for 2, and there are 3":   append(spots[:3:3], spot{"G304", "internal/a/z.go", "1", ""}),
		"G304 internal/a has a reason for 2, and there are 1":   spots[1:],
		"internal/a/b/c.go has a reason for 1, and there are 0": spots[:2],
	} {
		if err := unexplained(append([]spot{}, more...), reasons); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
	for _, text := range []string{"G304 x internal/a files of the own directory", "G304 0 internal/a files of the own directory", "G304 1 internal/a fine", "X 1 internal/a files of the own directory"} {
		if _, err := reasonsOf(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
