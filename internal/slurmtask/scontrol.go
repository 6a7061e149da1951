package slurmtask

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/musterhq/muster/internal/convert"
)

// ScontrolMain is scontrol as a batch script finds it: it knows the names of
// the nodes.
func ScontrolMain(args []string) int {
	if err := scontrol(args, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scontrol:", err)
		return 1
	}
	return 0
}

func scontrol(args []string, out io.Writer) error {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) < 2 || args[0] != "show" {
		return fmt.Errorf("inside a task it knows show hostnames and show hostlist only; muster has the rest")
	}
	list := os.Getenv("SLURM_JOB_NODELIST")
	if len(args) > 2 {
		list = strings.Join(args[2:], ",")
	}
	if list == "" {
		return fmt.Errorf("no list of hosts is given, and SLURM_JOB_NODELIST is not set")
	}
	names, err := convert.Hostnames(list)
	if err != nil {
		return err
	}
	switch args[1] {
	case "hostname", "hostnames":
		_, err = fmt.Fprintln(out, strings.Join(names, "\n"))
	case "hostlist", "hostlistsorted":
		_, err = fmt.Fprintln(out, strings.Join(names, ","))
	default:
		return fmt.Errorf("inside a task it does not show %s; muster describe does", args[1])
	}
	return err
}
