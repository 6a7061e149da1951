package spec

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestShellReadsWordsBack gives the words to a shell, which knows best.
func TestShellReadsWordsBack(t *testing.T) {
	words := []string{"plain", "", "two words", "it's", `back\slash`, "$HOME", "`id`", "new\nline", "-n", "a=b", "*", "~", "é", "#", "!x", "a;b"}
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+ShellWords(words...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, words) {
		t.Errorf("%q went in, %q came out", words, got)
	}
	if got := ShellWords(); got != "" {
		t.Errorf("no words are %q", got)
	}
}
