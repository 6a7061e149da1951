package slurmtools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/internal/convert/slurm"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/mpi"
)

// SbcastMain is sbcast as a batch script finds it: it puts a file on all nodes of the
// job (slurm.schedmd.com/sbcast.html).
func SbcastMain(args []string) int {
	if err := sbcast(args); err != nil {
		fmt.Fprintln(os.Stderr, "sbcast: error:", err)
		return 1
	}
	return 0
}

// broadcast is what sbcast was told.
type broadcast struct {
	from, to        string
	force, preserve bool
}

// sbcastValues are options of sbcast with a value, which change how a file travels and
// not what arrives.
var sbcastValues = map[string]bool{"-F": true, "-j": true, "-s": true, "-t": true, "--fanout": true, "--jobid": true, "--size": true, "--timeout": true, "--exclude": true}

func parseBroadcast(args []string) (b broadcast, err error) {
	var files []string
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w == "--force":
			b.force = true
		case w == "--preserve":
			b.preserve = true
		case sbcastValues[w]:
			i++
		case strings.HasPrefix(w, "--"): // --compress=lz4 and the like
		case strings.HasPrefix(w, "-") && len(w) > 1 && !sbcastValues[w[:2]]:
			b.force = b.force || strings.Contains(w, "f")
			b.preserve = b.preserve || strings.Contains(w, "p")
		case strings.HasPrefix(w, "-") && len(w) > 1:
		default:
			files = append(files, w)
		}
	}
	if len(files) != 2 {
		return b, fmt.Errorf("need two file names, have %d", len(files))
	}
	b.from, b.to = files[0], files[1]
	if strings.HasSuffix(b.to, "/") {
		b.to += filepath.Base(b.from)
	}
	if !filepath.IsAbs(b.to) {
		dir, err := os.Getwd()
		if err != nil {
			return b, err
		}
		b.to = filepath.Join(dir, b.to)
	}
	return b, nil
}

func sbcast(args []string) error {
	b, err := parseBroadcast(args)
	if err != nil {
		return err
	}
	list := os.Getenv("SLURM_JOB_NODELIST")
	if os.Getenv(dirVar) == "" || list == "" {
		return errors.New("it is run by batch scripts of Muster")
	}
	hosts, err := slurm.Hostnames(list)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(b.from)
	if err != nil {
		return err
	}
	info, err := os.Stat(b.from)
	if err != nil {
		return err
	}
	if _, err := os.Stat(b.to); err == nil && !b.force {
		return fmt.Errorf("%s: File exists; --force replaces it", b.to)
	}
	command := b.command(info)
	for at, host := range hosts { // several may be one machine, where the last is as good as the first
		if err := put(at, host, command, data); err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
	}
	return nil
}

// command writes what it reads to the file, which is there as a whole or not at all.
func (b broadcast) command(info os.FileInfo) string {
	const script = `t="$1.sbcast.$$" && cat >"$t" && chmod "$2" "$t" && { [ -z "$3" ] || touch -d "@$3" "$t"; } && mv -f "$t" "$1" || { rm -f "$t"; exit 1; }`
	since := ""
	if b.preserve {
		since = fmt.Sprint(info.ModTime().Unix())
	}
	return "exec " + spec.ShellWords("/bin/sh", "-c", script, "sbcast", b.to, fmt.Sprintf("%o", info.Mode().Perm()), since)
}

// put runs a command on a node, with data to read.
func put(at int, host, command string, data []byte) error {
	var errs bytes.Buffer
	if at > 0 {
		code, err := mpi.Run(context.Background(), host, command, bytes.NewReader(data), io.Discard, &errs)
		if err == nil && code != 0 {
			err = errors.New(strings.TrimSpace(errs.String()))
		}
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), &errs
	if err := cmd.Run(); err != nil {
		return errors.New(strings.TrimSpace(errs.String()))
	}
	return nil
}
