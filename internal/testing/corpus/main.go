// Command corpus imports every file below a folder and counts what became of
// them: clean, with notes, lossy or refused, with the reasons by how many files
// have them. With -run each file of which a document was made is also run on a
// server of its own with GPUs that are made up.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	files := flags.Bool("files", false, "name the files too: of each verdict, and of each reason up to five")
	binary := flags.String("run", "", "`PROGRAM` muster, by which what was imported is run too")
	wait := flags.Duration("wait", time.Minute, "how long what is run may take to come to an end")
	beside := flags.String("beside", "", "`PROGRAM` muster, with which every batch script is also run, and compared with a real Slurm")
	unpack := flags.String("slurm", "scripts/slurm", "`PROGRAM` that fetches and runs the real Slurm")
	in := flags.String("inside", "", "run one `SIDE` of the comparison, on a machine made for it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *in != "" {
		return inside(side(*in), flags.Arg(0))
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("it takes one folder and has %d: write make corpus DIR=FOLDER", flags.NArg())
	}
	c, err := read(flags.Arg(0))
	if err != nil {
		return err
	}
	c.print(out, *files)
	if *beside != "" {
		return besides(c, *beside, *unpack, *wait, *files, out)
	}
	if *binary == "" {
		return nil
	}
	program, err := filepath.Abs(*binary)
	if err != nil {
		return err
	}
	return runAll(c, program, *wait, *files, out)
}
