//go:build linux

package local

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/internal/backend/local/container"
	"github.com/musterhq/muster/internal/backend/local/proc"
	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/rootfs"
)

// Installer runs the commands of image builds, each in a container of its own
// that nobody else sees.
type Installer struct {
	Dir    string // where file trees are made
	Engine string // the OCI runtime; default: runc in PATH
}

// Install runs script with /bin/sh on top of img and returns the directory that
// holds what it has changed, as the upper directory of an overlay; done removes
// it. A script that fails is an *exec.ExitError, wrapped.
func (i Installer) Install(ctx context.Context, img *oci.Image, script string, env []string, log io.Writer) (upper string, done func(), err error) {
	if err := os.MkdirAll(i.Dir, 0o700); err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(i.Dir, "install-")
	if err != nil {
		return "", nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			remove()
		}
	}()
	for _, name := range []string{rootfs.RootDir, rootfs.UpperDir, rootfs.WorkDir, rootfs.EtcDir, rootfs.StateDir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return "", nil, err
		}
	}
	err = rootfs.Mounted(img.Layers, dir, func(root int) error { return i.run(ctx, img, dir, root, script, env, log) })
	if err != nil {
		return "", nil, err
	}
	upper = filepath.Join(dir, rootfs.UpperDir)
	return upper, remove, dropMountPoints(upper)
}

// run runs the script in the tree that is mounted for this thread only.
func (i Installer) run(ctx context.Context, img *oci.Image, dir string, root int, script string, env []string, log io.Writer) error {
	user, err := container.FindUser("0", nil, nil, rootfs.Read(root, "etc/passwd", 1<<20), rootfs.Read(root, "etc/group", 1<<20))
	if err != nil {
		return err
	}
	name := filepath.Base(dir)
	config := container.Config{Env: img.Config.Env}
	in := container.Input{
		Root: filepath.Join(dir, rootfs.RootDir), Arch: runtime.GOARCH, User: user, Hostname: name, Dir: "/",
		Argv: []string{"/bin/sh", "-c", script}, Env: config.Environment([]string{"HOME=" + user.Home}, env),
		CgroupsPath: "/muster-" + name, Capabilities: proc.Capabilities(), OpenFiles: proc.OpenFilesLimit(),
	}
	for _, f := range []string{"hosts", "resolv.conf"} {
		data, _ := os.ReadFile("/etc/" + f) // a copy: root in the container may write to it
		path := filepath.Join(dir, rootfs.EtcDir, f)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
		in.Binds = append(in.Binds, container.Bind{Source: path, Target: "/etc/" + f})
	}
	data, err := json.Marshal(container.Spec(in))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600); err != nil {
		return err
	}
	engine := i.Engine
	if engine == "" {
		engine = "runc"
	}
	engineLog := filepath.Join(dir, "engine.log")
	base := []string{"--root", filepath.Join(dir, rootfs.StateDir), "--log", engineLog, "--log-format", "json"}
	cmd := exec.Command(engine, append(base, "run", "--bundle", dir, name)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, killed := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // the engine ends with what it runs, which it may only be about to start
		defer close(killed)
		for over := false; !over; {
			_ = exec.Command(engine, append(base, "kill", name, "KILL")...).Run()
			select {
			case <-ended:
				over = true
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	err = cmd.Wait()
	close(ended)
	if !stop() {
		<-killed
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		text, _ := os.ReadFile(engineLog)
		if explained := container.Explain(string(text)); explained != "" {
			return fmt.Errorf("%s: %w", explained, err)
		}
	}
	return err
}

// dropMountPoints removes what is only there because something was mounted on
// it.
func dropMountPoints(upper string) error {
	for _, f := range []string{"etc/hosts", "etc/resolv.conf"} {
		path := filepath.Join(upper, f)
		if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Size() == 0 {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for _, d := range []string{"dev/pts", "dev/shm", "dev/mqueue", "dev", "proc", "sys/fs/cgroup", "sys/fs", "sys", "etc"} {
		err := unix.Rmdir(filepath.Join(upper, d)) // only an empty one goes
		if err != nil && err != unix.ENOENT && err != unix.ENOTEMPTY && err != unix.ENOTDIR {
			return err
		}
	}
	return nil
}
