// Command release makes everything that is released, into one folder: from one
// commit the same bytes, on whatever day and in whatever folder.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	r := &release{}
	only, platforms, tag := "", "", ""
	flag.StringVar(&r.root, "root", ".", "the repository")
	flag.StringVar(&r.out, "out", "out/release", "the folder that is filled; what is in it is removed")
	flag.StringVar(&tag, "version", "", "as a tag, such as v1.2.3; empty: what git describe says")
	flag.StringVar(&only, "only", "", "these parts alone, with commas between: "+strings.Join(names(), ", "))
	flag.StringVar(&platforms, "platforms", "", "these alone, with commas between, such as linux/amd64")
	flag.StringVar(&r.key, "key", "", "the private key of OpenSSH that signs the checksums; empty: no signature")
	flag.Parse()
	if err := run(r, tag, only, platforms); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(r *release, tag, only, platforms string) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see -help", flag.Arg(0))
	}
	var err error
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if err := r.describe(tag); err != nil {
		return err
	}
	if r.platforms, err = choose(platforms); err != nil {
		return err
	}
	chosen, err := choosePart(only)
	if err != nil {
		return err
	}
	if r.stage, err = os.MkdirTemp("", "muster-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.stage)
	if err := r.make(chosen); err != nil {
		return err
	}
	return r.report(os.Stdout)
}
