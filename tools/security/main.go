// Security looks at the product for what is known to be dangerous: versions of
// dependencies with known weaknesses that are linked in (vulnerable), and patterns of
// code (gosec). It is run from the root of the repository.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "vulnerable":
		err = vulnerable(context.Background(), os.Args[2])
	case len(os.Args) > 2 && os.Args[1] == "gosec":
		err = patterns(os.Args[2:])
	default:
		err = fmt.Errorf("say what to look at: security vulnerable PROGRAM, or security gosec PACKAGE and further ones")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
