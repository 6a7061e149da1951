package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotesAreMadeOfTheCommits makes the notes of a repository of its own: from one tag to
// the next.
func TestNotesAreMadeOfTheCommits(t *testing.T) {
	t.Parallel()
	needs(t, "git")
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	commit := func(words ...string) {
		args := []string{"commit", "-q", "--allow-empty"}
		for _, w := range words {
			args = append(args, "-m", w)
		}
		git(args...)
	}
	notes := func() string {
		r := &release{root: dir, out: t.TempDir()}
		if err := r.describe(""); err != nil {
			t.Fatal(err)
		}
		if err := r.notes(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(r.out, "RELEASE_NOTES.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	commit("server: answers")
	if got := notes(); !strings.Contains(got, "The first release, of 1 commits") || !strings.Contains(got, "# Muster 0.1.0-dev.1.g") {
		t.Error(got)
	}
	git("tag", "v1.0.0")
	commit("cli: a column is gone", "It said nothing.", "Upgrade: scripts that read the column\nread another.", "And so on.")
	commit("tests: wait longer")
	commit("without an area")
	git("tag", "v1.1.0")
	got := notes()
	for _, want := range []string{
		"# Muster 1.1.0, ", "Since v1.0.0: 3 commits.", "## Before you upgrade\n\n- scripts that read the column read another. (",
		"## cli\n\n- a column is gone (", "## other\n\n- without an area (", "\n1 commits more changed tests",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"wait longer", "answers", "And so on"} {
		if strings.Contains(got, not) {
			t.Errorf("%q is in\n%s", not, got)
		}
	}
}
