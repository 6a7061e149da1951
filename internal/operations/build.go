package operations

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/oci"
)

// codePath is where code goes in an image whose document says nothing.
const codePath = "/workspace"

// Build implements control.Hands: a base image, what is installed on top of
// it, and the code become one image in a registry. Its log is the workload's
// build log.
func (h *Hands) Build(ctx context.Context, w *core.Workload) (string, error) {
	if err := os.MkdirAll(h.BuildLogs, 0o700); err != nil {
		return "", err
	}
	log, err := os.OpenFile(h.buildLog(w.ID), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("open the build log: %w", err)
	}
	defer func() { _ = log.Close() }()
	image, err := h.build(ctx, w, log)
	if err != nil {
		fmt.Fprintf(log, "failed: %v\n", err)
	}
	return image, explain(ctx, err)
}

func (h *Hands) build(ctx context.Context, w *core.Workload, log io.Writer) (string, error) {
	b := w.Spec.Build
	target := b.Target
	if target == "" {
		var err error
		if target, err = h.target(w, "build.target"); err != nil {
			return "", err
		}
	}
	creds, err := h.Credentials(ctx, w, b.PushSecret)
	if err != nil {
		return "", err
	}
	code := ""
	if b.Code != "" {
		code = within(w.Spec.Workdir, b.Code)
		if st, err := os.Stat(code); err != nil || !st.IsDir() {
			return "", fmt.Errorf("build.code: %s is not a directory on this machine; name the directory that holds the code", code)
		}
	}
	if b.Dockerfile != "" {
		return dockerfile(ctx, within(code, b.Dockerfile), code, target, creds, log)
	}
	base := b.Base
	if base == "" {
		base = w.Spec.Image
	}
	o := oci.BuildOptions{Base: base, Target: target, Env: b.Env, Credentials: creds, Log: log}
	if script := installs(b); script != "" {
		upper, done, err := h.install(ctx, base, script, b, creds, log)
		if err != nil {
			return "", err
		}
		defer done()
		o.Layers = append(o.Layers, oci.LayerSource{Dir: upper, Upper: true, Comment: "packages"})
	}
	if code != "" {
		to := b.CodePath
		if to == "" {
			to = codePath
		}
		o.Layers = append(o.Layers, oci.LayerSource{Dir: code, To: to, Comment: "code"})
		o.Workdir = to
	}
	built, err := h.Images.Build(ctx, o)
	return built.Ref, err
}

// installs is the script that puts packages into an image; empty: there are none.
func installs(b *spec.Build) string {
	var s strings.Builder
	if len(b.Apt) > 0 {
		s.WriteString("export DEBIAN_FRONTEND=noninteractive\napt-get update\napt-get install -y --no-install-recommends " + spec.ShellWords(b.Apt...) + "\nrm -rf /var/lib/apt/lists/*\n")
	}
	if len(b.Pip) > 0 {
		s.WriteString("python3 -m pip install --no-cache-dir " + spec.ShellWords(b.Pip...) + "\n")
	}
	for _, r := range b.Run {
		s.WriteString("( " + r + "\n)\n")
	}
	if s.Len() == 0 {
		return ""
	}
	return "set -ex\n" + s.String()
}

func (h *Hands) install(ctx context.Context, base, script string, b *spec.Build, creds []oci.Credential, log io.Writer) (string, func(), error) {
	if h.Installer == nil {
		return "", nil, errors.New("packages cannot be installed here: that takes a container, and this server has no container engine; install runc (apt-get install runc) and start the server as root")
	}
	fmt.Fprintf(log, "pulling %s\n", base)
	img, err := h.Images.Pull(ctx, base, oci.PullOptions{Credentials: creds})
	if err != nil {
		return "", nil, err
	}
	var env []string
	for k, v := range b.Env {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	upper, done, err := h.Installer.Install(ctx, img, script, env, log)
	if err != nil {
		return "", nil, fmt.Errorf("%s failed: %w", stepsOf(b), err)
	}
	return upper, done, nil
}

// stepsOf names what of a build runs in a container.
func stepsOf(b *spec.Build) string {
	var all []string
	for name, there := range map[string]bool{"build.apt": len(b.Apt) > 0, "build.pip": len(b.Pip) > 0, "build.run": len(b.Run) > 0} {
		if there {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// builders are the programs that can build a Dockerfile, with how they are
// called. Each pushes what it has built and writes its digest into a file.
var builders = []struct {
	name string
	run  func(ctx context.Context, path, file, dir, target, digest, auth string, log io.Writer) error
}{
	{"buildah", buildah},
	{"buildctl", buildctl},
}

func dockerfile(ctx context.Context, file, dir, target string, creds []oci.Credential, log io.Writer) (string, error) {
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("build.dockerfile: %s cannot be read: %w", file, err)
	}
	tmp, err := os.MkdirTemp("", "muster-build-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	auth := filepath.Join(tmp, "config.json")
	if err := oci.WriteDockerConfig(auth, creds); err != nil {
		return "", err
	}
	digest := filepath.Join(tmp, "digest")
	for _, b := range builders {
		path, err := exec.LookPath(b.name)
		if err != nil {
			continue
		}
		fmt.Fprintf(log, "building %s with %s\n", file, b.name)
		if err := b.run(ctx, path, file, dir, target, digest, auth, log); err != nil {
			return "", fmt.Errorf("%s failed: %w; the build log says more", b.name, err)
		}
		data, err := os.ReadFile(digest)
		if err != nil {
			return "", fmt.Errorf("%s did not say what it has built: %w", b.name, err)
		}
		return byDigest(target, strings.TrimSpace(string(data))), nil
	}
	return "", errors.New("build.dockerfile: a Dockerfile needs a builder, and neither buildah nor buildctl is installed on this machine; install one (apt-get install buildah), or use build.base with pip, apt, run and code instead")
}

// byDigest is an image's name with its tag replaced by a digest.
func byDigest(target, digest string) string {
	slash := strings.LastIndexByte(target, '/')
	if colon := strings.LastIndexByte(target, ':'); colon > slash {
		target = target[:colon]
	}
	return target + "@" + digest
}

// buildah builds in a storage of its own, which goes with the build: nothing of
// one user's build is left for another, and nothing stays mounted.
func buildah(ctx context.Context, path, file, dir, target, digest, auth string, log io.Writer) error {
	tls := "--tls-verify=" + fmt.Sprint(!oci.Loopback(target))
	tmp := filepath.Dir(digest)
	own := []string{path, "--root", filepath.Join(tmp, "storage"), "--runroot", filepath.Join(tmp, "run"), "--storage-driver", "vfs"}
	const local = "muster-build:latest"
	err := command(ctx, dir, log, append(own[:len(own):len(own)], "bud", "--isolation", "chroot", "--authfile", auth, tls, "-f", file, "-t", local, ".")...)
	if err != nil {
		return err
	}
	return command(ctx, dir, log, append(own[:len(own):len(own)], "push", "--authfile", auth, tls, "--digestfile", digest, local, "docker://"+target)...)
}

func buildctl(ctx context.Context, path, file, dir, target, digest, auth string, log io.Writer) error {
	meta := digest + ".json"
	err := command(ctx, dir, log, "env", "DOCKER_CONFIG="+filepath.Dir(auth), path, "build", "--frontend", "dockerfile.v0",
		"--local", "context="+dir, "--local", "dockerfile="+filepath.Dir(file), "--opt", "filename="+filepath.Base(file),
		"--output", fmt.Sprintf("type=image,name=%s,push=true,registry.insecure=%v", target, oci.Loopback(target)), "--metadata-file", meta, "--progress", "plain")
	if err != nil {
		return err
	}
	data, err := os.ReadFile(meta)
	if err != nil {
		return err
	}
	_, after, ok := strings.Cut(string(data), `"containerimage.digest"`)
	if !ok {
		return errors.New("its metadata names no digest")
	}
	parts := strings.SplitN(after, `"`, 3)
	if len(parts) < 3 {
		return errors.New("its metadata names no digest")
	}
	return os.WriteFile(digest, []byte(parts[1]), 0o600)
}

func command(ctx context.Context, dir string, log io.Writer, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	return cmd.Run()
}
