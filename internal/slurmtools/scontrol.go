package slurmtools

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/musterhq/muster/internal/convert/slurm"
)

// ScontrolMain is scontrol as a batch script finds it: it knows the names of
// the job's nodes without a server, and has the rest done as anywhere.
func ScontrolMain(args []string) int {
	if !ofHosts(args) {
		self, err := os.Executable()
		if err == nil {
			err = syscall.Exec(self, append([]string{"scontrol"}, args...), os.Environ())
		}
		fmt.Fprintln(os.Stderr, "scontrol:", err)
		return 1
	}
	if err := scontrol(args, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scontrol:", err)
		return 1
	}
	return 0
}

// ofHosts reports whether it is asked for names of hosts.
func ofHosts(args []string) bool {
	words := slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "-") })
	return len(words) > 1 && words[0] == "show" && strings.HasPrefix(words[1], "host")
}

func scontrol(args []string, out io.Writer) error {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		args = args[1:]
	}
	if len(args) < 2 || args[0] != "show" {
		return fmt.Errorf("it is not asked for names of hosts")
	}
	list := os.Getenv("SLURM_JOB_NODELIST")
	if len(args) > 2 {
		list = strings.Join(args[2:], ",")
	}
	if list == "" {
		return fmt.Errorf("no list of hosts is given, and SLURM_JOB_NODELIST is not set")
	}
	names, err := slurm.Hostnames(list)
	if err != nil {
		return err
	}
	switch args[1] {
	case "hostname", "hostnames":
		_, err = fmt.Fprintln(out, strings.Join(names, "\n"))
	case "hostlist", "hostlistsorted":
		_, err = fmt.Fprintln(out, strings.Join(names, ","))
	default:
		return fmt.Errorf("it does not show %s", args[1])
	}
	return err
}
