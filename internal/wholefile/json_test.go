package wholefile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWhatIsKeptAsJSON(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kept.json")
	got := []int{7}
	for _, nothing := range []string{"", path} {
		if err := ReadJSON(nothing, &got); err != nil || len(got) != 1 {
			t.Errorf("of %q: %v, %v", nothing, got, err)
		}
	}
	if err := WriteJSON("", []int{1}); err != nil {
		t.Error(err)
	}
	if err := WriteJSON(path, []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	if err := ReadJSON(path, &got); err != nil || len(got) != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("[1,"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ReadJSON(path, &got) == nil {
		t.Error("half a list is read")
	}
	if WriteJSON(path, func() {}) == nil {
		t.Error("a function is written")
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "[1," {
		t.Errorf("a file is lost for what cannot be written: %q, %v", text, err)
	}
}
