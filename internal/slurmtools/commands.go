package slurmtools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// shims writes the commands that a script finds first in its PATH: those that
// are different inside of a job, and links for those that are not.
func shims(dir, self string) error {
	for name, arg := range map[string]string{"srun": SrunArg, "scontrol": ScontrolArg} {
		text := "#!/bin/sh\nexec " + spec.ShellWords(self, arg) + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			return err
		}
	}
	for _, name := range []string{"sbatch", "squeue", "scancel", "sinfo", "salloc", "sacct", "sacctmgr", "seff", "sprio", "sshare", "sstat"} {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// findServer has those commands ask the server that runs the job. Without it they
// ask none: the first command would start one of its own in the job.
func findServer() {
	_ = os.Setenv("MUSTER_NO_AUTOSTART", "1")
	url := os.Getenv("MUSTER_TASK_URL")
	if strings.HasPrefix(url, "unix://") {
		// Tasks report at a socket of their own; where its users ask the server, it
		// has written in its data directory, in which the task's own lies.
		data := filepath.Dir(filepath.Dir(filepath.Dir(os.Getenv("MUSTER_TASK_DIR"))))
		text, _ := os.ReadFile(filepath.Join(data, "muster.addr")) // not in a container, and not as another user
		url = strings.TrimSpace(string(text))
	}
	if url != "" {
		_ = os.Setenv("MUSTER_SERVER", url)
	}
}

// asFile makes a script that is an argument of its interpreter a file of the name that
// it has under Slurm, so that $0, BASH_SOURCE and __file__ say where it is, and every
// interpreter reads it. For a login shell the file puts dir into PATH once more, in
// the place of its first line: what such a shell reads at its start says a PATH of its
// own. Lines keep their numbers.
func asFile(args []string, dir string) ([]string, error) {
	for i := 1; i < len(args); i++ {
		first, body, _ := strings.Cut(args[i], "\n")
		if !strings.HasPrefix(first, "#!") || args[i-1] != "-c" && args[i-1] != "-e" {
			continue
		}
		name, rest := filepath.Join(dir, slurmScript), args[i+1:]
		if len(rest) > 0 && rest[0] == slurmScript {
			rest = rest[1:]
		}
		if login(args[:i-1]) {
			first = "PATH=" + spec.ShellWords(dir) + ":$PATH"
		}
		return slices.Concat(args[:i-1], []string{name}, rest), os.WriteFile(name, []byte(first+"\n"+body), 0o600)
	}
	return args, nil
}

// login reports whether a command line is that of a login shell.
func login(argv []string) bool {
	shell := slices.ContainsFunc(argv, func(w string) bool {
		return slices.Contains([]string{"bash", "sh", "zsh", "dash", "ksh"}, filepath.Base(w))
	})
	return shell && slices.ContainsFunc(argv[1:], func(w string) bool {
		return w == "--login" || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.ContainsRune(w, 'l')
	})
}
