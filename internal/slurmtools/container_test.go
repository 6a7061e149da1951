package slurmtools

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestImagesAreNamedAsPyxisDoes(t *testing.T) {
	for text, want := range map[string][2]string{
		"ubuntu:22.04":                          {"ubuntu:22.04", ""},
		"docker://ubuntu":                       {"ubuntu", ""},
		"nvcr.io#nvidia/pytorch:24.10-py3":      {"nvcr.io/nvidia/pytorch:24.10-py3", ""},
		"docker://$oauthtoken@nvcr.io#nvidia/x": {"nvcr.io/nvidia/x", ""},
		"nvcr.io/nvidia/x@sha256:0123":          {"nvcr.io/nvidia/x@sha256:0123", ""},
		"/images/a.sqsh":                        {"", "/images/a.sqsh"},
		"./a":                                   {"", "./a"},
		"a.sqsh":                                {"", "a.sqsh"},
	} {
		if ref, file := (&containerOptions{image: text}).ref(); ref != want[0] || file != want[1] {
			t.Errorf("%s is the image %q or the file %q", text, ref, file)
		}
	}
}

func TestMountsOfASteps(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/home/ann")
	t.Setenv("MUSTER_TASK_URL", "unix:///d/task.sock")
	t.Setenv("MUSTER_TASK_TOKEN_FILE", "/d/token")
	o, err := parse([]string{"--container-image=a", "--container-mounts", "/x:/y:ro+rprivate,/z", "--container-mounts=./w:/w", "--container-mount-home", "true"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := o.container.boxMounts()
	want := []boxMount{
		{Source: "/x", Target: "/y", ReadOnly: true}, {Source: "/z", Target: "/z"}, {Source: filepath.Join(here, "w"), Target: "/w"},
		{Source: "/home/ann", Target: "/home/ann"}, {Source: "/d/task.sock", Target: "/d/task.sock", Ours: true}, {Source: "/d/token", Target: "/d/token", ReadOnly: true, Ours: true},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("they are %+v, %v", got, err)
	}
	for _, bad := range []string{"/x:", ":/x", "/x:y"} {
		if _, err := (&containerOptions{mounts: bad}).boxMounts(); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, bad := range [][]string{{"--container-name=../a", "true"}, {"--container-save=/a", "true"}} {
		if _, err := parse(bad); err == nil || !strings.Contains(err.Error(), "--container-") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// What the image says stands over the script's own, but for what says what the job has,
// and what the step wants kept.
func TestVariablesOfAContainer(t *testing.T) {
	for name, text := range map[string]string{"A": "script", "B": "script", "SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "4540", "SLURM_LAUNCH_NODE_IPADDR": "n1", "CUDA_VISIBLE_DEVICES": "2", "RANK": "", "PATH": "/host"} {
		t.Setenv(name, text)
	}
	for _, name := range []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"} {
		t.Setenv(name, "")
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("C", "") // goes with the test
	b := inside{Env: []string{"A=image", "B=image", "C=image", "CUDA_VISIBLE_DEVICES=all", "SLURM_PROCID=9", "PYTORCH_VERSION=2"}, Keep: []string{"B"}}
	if err := b.environment(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"A": "image", "B": "script", "C": "image", "CUDA_VISIBLE_DEVICES": "2", "SLURM_PROCID": "3", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "n1", "MASTER_PORT": "61004",
	} {
		if got := os.Getenv(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}
