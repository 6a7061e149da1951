package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestFilesOfAServerAreFoundFromElsewhere: systemd starts a server in another directory,
// so that each flag that names a file is written with the whole of its path.
func TestFilesOfAServerAreFoundFromElsewhere(t *testing.T) {
	var x serverFlags
	f := pflag.NewFlagSet("server", pflag.ContinueOnError)
	x.register(f)
	f.VisitAll(func(flag *pflag.Flag) {
		if (strings.HasPrefix(flag.Usage, "file ") || strings.HasPrefix(flag.Usage, "directory ")) && !slices.Contains(fileFlags, flag.Name) {
			t.Errorf("--%s names a file, and is none of fileFlags", flag.Name)
		}
	})
	for _, name := range fileFlags {
		if err := f.Set(name, "here"); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.anywhere(f, func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	for _, name := range fileFlags {
		if got := f.Lookup(name).Value.String(); !filepath.IsAbs(got) || filepath.Base(got) != "here" {
			t.Errorf("--%s is written as %s", name, got)
		}
	}
}
