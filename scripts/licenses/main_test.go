package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLicencesAreThoseOfWhatIsLinked compares what is shipped with what the program
// is linked with now.
func TestLicencesAreThoseOfWhatIsLinked(t *testing.T) {
	root := filepath.Join("..", "..")
	shipped, err := os.ReadFile(filepath.Join(root, "THIRD_PARTY_LICENSES"))
	if err != nil {
		t.Fatal(err)
	}
	var now bytes.Buffer
	if err := write(&now, root); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(now.Bytes(), shipped) {
		t.Error("THIRD_PARTY_LICENSES is not of what is linked; make generate writes it")
	}
}
