package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pictureMost is how large a picture may be: the front page loads three.
const pictureMost = 60_000

func TestEveryPageOfDocsIsInTheIndex(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	pages := documents(t, root)
	index := pages["docs/README.md"]
	for name := range pages {
		page, ours := strings.CutPrefix(name, "docs/")
		if ours && !strings.Contains(page, "/") && page != "README.md" && !strings.Contains(index, "("+page) {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
}

func TestPicturesAreSmallAndShown(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	found, err := os.ReadDir(filepath.Join(root, "docs", "pictures"))
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, text := range documents(t, root) {
		all += text
	}
	for _, f := range found {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > pictureMost {
			t.Errorf("docs/pictures/%s has %d bytes, more than %d: make pictures writes small ones", f.Name(), info.Size(), pictureMost)
		}
		if !strings.Contains(all, "pictures/"+f.Name()) {
			t.Errorf("docs/pictures/%s is shown by no page", f.Name())
		}
	}
}
