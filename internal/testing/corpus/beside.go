package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// side is one of the two that run each script.
type side string

const (
	slurm  side = "slurm"
	muster side = "muster"
)

var sides = []side{slurm, muster}

// plan is what both sides run, in this order.
type plan struct {
	Scripts []planned
	Wait    time.Duration // how long the jobs of one script may take; what runs then is cancelled
}

// planned is a batch script in a folder of its own, where it is submitted.
type planned struct{ Name, Dir string }

// home is where scripts are on both sides.
const home = "/srv/corpus"

// besides runs every batch script of c on a real Slurm and on program, each in a
// copy of this machine's files of its own, without a network, from which nothing
// is left; and prints how they compare.
func besides(c *counted, program, unpack string, wait time.Duration, names bool, out io.Writer) (err error) {
	if os.Getuid() != 0 {
		return errors.New("a machine of its own for each side takes root")
	}
	work, err := os.MkdirTemp("", "corpus-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := os.Chmod(work, 0o755); err != nil { //nolint:gosec // every user's daemons look in
		return err
	}
	p := plan{Wait: wait}
	texts := map[string]string{}
	for _, f := range c.files {
		text, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(text), "#!") || !strings.Contains(string(text), "#SBATCH") {
			continue
		}
		s := planned{Name: f.name, Dir: fmt.Sprintf("%s/%04d", home, len(p.Scripts))}
		p.Scripts = append(p.Scripts, s)
		texts[s.Dir+"/"+filepath.Base(f.name)] = siteless(string(text))
	}
	if len(p.Scripts) == 0 {
		return errors.New("there is no batch script: a file that begins with #! and has #SBATCH lines")
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, cp := range [][2]string{{self, "corpus"}, {program, "program"}, {unpack, "slurm.sh"}} {
		if err := copyFile(cp[0], filepath.Join(work, cp[1])); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(work, "plan.json"), data, 0o600); err != nil {
		return err
	}
	ends := make(chan error, len(sides))
	for _, s := range sides {
		if err := furnish(filepath.Join(work, string(s), "up"), s, unpack, texts); err != nil {
			return err
		}
	}
	for _, s := range sides {
		go func() { ends <- enter(work, s) }()
	}
	for range sides {
		err = errors.Join(err, <-ends)
	}
	if err != nil {
		return err
	}
	outcomes := map[side][]outcome{}
	for _, s := range sides {
		data, err := os.ReadFile(filepath.Join(work, string(s), "outcomes.json"))
		if err != nil {
			return err
		}
		var o []outcome
		if err := json.Unmarshal(data, &o); err != nil {
			return err
		}
		outcomes[s] = o
	}
	printCompared(out, p, outcomes, names)
	return nil
}

// furnish lays what a side has over the machine's own files.
func furnish(up string, s side, unpack string, texts map[string]string) error {
	if s == slurm {
		if out, err := exec.Command(unpack, "unpack", up).CombinedOutput(); err != nil {
			return fmt.Errorf("slurm is not to be had: %w\n%s", err, out)
		}
	}
	for path, text := range texts {
		if err := put(up+path, text, 0o755); err != nil {
			return err
		}
	}
	for name, text := range stubs(texts) {
		if err := put(filepath.Join(up, "usr/local/sbin", name), text, 0o755); err != nil {
			return err
		}
	}
	for _, profile := range []string{".profile", ".bash_profile", ".bashrc", ".bash_login"} { // of nobody
		if err := put(filepath.Join(up, "root", profile), "", 0o644); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(up, records), 0o755) //nolint:gosec // jobs of any user write there
}

func put(path, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // jobs of any user read it
		return err
	}
	return os.WriteFile(path, []byte(text), mode)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755) //nolint:gosec // it is a program
}

// machine makes a machine of the files in $1/$2/up over those of this one, with
// loopback alone, and runs the side on it. All that runs there ends with it.
const machine = `set -e
work=$1 side=$2 root=$1/$2/root
mkdir -p "$root" "$work/$side/wk" "$work/$side/run"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/$side/up,workdir=$work/$side/wk" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
if [ "$side" = muster ]; then # control groups are this machine's: what ends with the machine would leave its own
  mount -t tmpfs -o ro none "$root/sys/fs/cgroup"
fi
mkdir -p "$root$work"
mount --bind "$work" "$root$work"
ip link set lo up
ip address add 192.0.2.1/32 dev lo # names and addresses are looked up only where there is more than loopback
exec chroot "$root" "$work/corpus" -inside "$side" "$work"
`

// enter runs a side to its end.
func enter(work string, s side) error {
	cmd := exec.Command("unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "bash", "-c", machine, "machine", work, string(s))
	cmd.Dir = "/"
	cmd.Env = environment
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", s, err, out)
	}
	return nil
}

// environment is that of who submits, the same on both sides.
var environment = []string{
	"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + rootsHome, "USER=root", "LOGNAME=root",
	"SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=dumb",
}
