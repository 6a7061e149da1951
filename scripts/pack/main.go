// Command pack puts the small program and the large one into one file.
package main

import (
	"fmt"
	"os"

	"github.com/musterhq/muster/internal/packed"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: pack FILE SMALL LARGE")
		os.Exit(2)
	}
	if err := packed.Pack(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}
