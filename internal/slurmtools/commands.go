package slurmtools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core/spec"
)

// commands is the directory with the commands that a script finds first in its PATH:
// that of all jobs of the server where its data directory is within reach (not in a
// container, and not as another user), else one in own.
func commands(own, self string) (string, error) {
	if data := dataDir(); data != "" {
		if _, err := os.Lstat(filepath.Join(data, addressFile)); err == nil {
			if dir, err := commandsOfAll(data, self); err == nil {
				return dir, nil
			}
		}
	}
	return own, shims(own, self)
}

// addressFile is in a data directory what says where its server is asked.
const addressFile = "muster.addr"

// commandsOfAll makes that of all jobs, once for what is in it. To make and remove it
// for each takes longer than a short job.
func commandsOfAll(data, self string) (string, error) {
	sum := sha256.Sum256(fmt.Append(nil, differ, links, self))
	dir := filepath.Join(data, "slurm-"+hex.EncodeToString(sum[:6]))
	if st, err := os.Lstat(dir); err == nil && st.IsDir() {
		return dir, nil
	}
	part, err := os.MkdirTemp(data, "slurm-part-")
	if err != nil {
		return "", err
	}
	if err = shims(part, self); err == nil {
		err = os.Rename(part, dir)
	}
	if err != nil {
		_ = os.RemoveAll(part)
		if st, lerr := os.Lstat(dir); lerr == nil && st.IsDir() {
			err = nil // another job was quicker
		}
	}
	return dir, err
}

// differ are the commands that are different inside of a job, with the arguments under
// which this program is them; links are those that are not.
var (
	differ = [][2]string{{"srun", SrunArg}, {"scontrol", ScontrolArg}, {"sbcast", SbcastArg}}
	links  = []string{"sbatch", "squeue", "scancel", "sinfo", "salloc", "sacct", "sacctmgr", "seff", "sprio", "sshare", "sstat"}
)

// shims writes these commands.
func shims(dir, self string) error {
	for _, c := range differ {
		name, arg := c[0], c[1]
		text := "#!/bin/sh\nexec " + spec.ShellWords(self, arg) + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			return err
		}
	}
	for _, name := range links {
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
		text, _ := os.ReadFile(filepath.Join(dataDir(), addressFile)) // not in a container, and not as another user
		url = strings.TrimSpace(string(text))
	}
	if url != "" {
		_ = os.Setenv("MUSTER_SERVER", url)
	}
}

// dataDir is the data directory of the server, in which the task's own lies; "": a
// backend has given it none.
func dataDir() string {
	dir := os.Getenv("MUSTER_TASK_DIR")
	if dir == "" {
		return ""
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(dir)))
}

// asFile makes a script that is an argument of its interpreter a file of the name that
// it has under Slurm, so that $0, BASH_SOURCE and __file__ say where it is, and every
// interpreter reads it. For a login shell the file puts commands into PATH once more, in
// the place of its first line: what such a shell reads at its start says a PATH of its
// own. Lines keep their numbers.
func asFile(args []string, dir, commands string) ([]string, error) {
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
			first = "PATH=" + spec.ShellWords(commands) + ":$PATH"
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
