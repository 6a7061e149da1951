package slurmtools

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/api"
)

// containerOptions are what srun was told of the container that a step runs in, in
// the words of pyxis (github.com/NVIDIA/pyxis/wiki/Usage).
type containerOptions struct {
	image, mounts, workdir, name, env string
	home, entrypoint                  bool
}

// set takes one option; those that it does not know change nothing here.
func (c *containerOptions) set(name, value string) error {
	switch name {
	case "container-image":
		c.image = value
	case "container-mounts":
		c.mounts = strings.Trim(c.mounts+","+value, ",")
	case "container-workdir":
		c.workdir = value
	case "container-name":
		// NAME:create and its like say what must be there; here it is made where it is not.
		c.name, _, _ = strings.Cut(value, ":")
		if !nameOfBox(c.name) {
			return fmt.Errorf("--container-name: %q is not a name of letters, digits, dots, dashes and underscores", c.name)
		}
	case "container-env":
		c.env = value
	case "container-mount-home", "no-container-mount-home":
		c.home = name == "container-mount-home"
	case "container-entrypoint", "no-container-entrypoint":
		c.entrypoint = name == "container-entrypoint"
	case "container-save":
		return errors.New("--container-save is not taken: containers go with their job; make an image of what the step installs, and name that one")
	}
	return nil
}

// nameOfBox reports whether a container may be called so: it is a name of files.
func nameOfBox(name string) bool {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.-", c)
	}
	return name != "" && len(name) <= 100 && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-") && strings.IndexFunc(name, other) < 0
}

// stepImage is what a step's containers are made of.
type stepImage struct {
	api.StepImage
	Squash string `json:"squash,omitempty"` // a file with the whole of it, instead of layers
}

// ref is an image as everybody else writes it, of [USER@][REGISTRY#]IMAGE, or the path
// of a file.
func (c *containerOptions) ref() (ref, file string) {
	text := c.image
	for _, scheme := range []string{"docker://", "dockerd://", "podman://"} {
		text = strings.TrimPrefix(text, scheme)
	}
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || strings.HasSuffix(text, ".sqsh") || strings.HasSuffix(text, ".squashfs") {
		return "", text
	}
	if user, rest, has := strings.Cut(text, "@"); has && !strings.HasPrefix(rest, "sha256:") && !strings.ContainsAny(user, "/:#") {
		text = rest // who pulls is said by secrets
	}
	return strings.Replace(text, "#", "/", 1), ""
}

// findImage has the image of the step's containers on this machine. A container with a
// name keeps its image for the steps after this one, as it keeps what was changed in it.
func (s *step) findImage(r *record, dir string) error {
	c := &s.o.container
	if c.image == "" && c.name == "" {
		if c.mounts != "" || c.workdir != "" {
			return errors.New("--container-mounts and --container-workdir are for --container-image, which is missing")
		}
		return nil
	}
	if os.Getenv("MUSTER_SLURM_CONTAINER") != "" {
		return errors.New("this script runs in a container itself, in which a step cannot have another; leave --container-image out here or of the script")
	}
	s.boxDir = filepath.Join(dir, "containers")
	if err := os.MkdirAll(s.boxDir, 0o700); err != nil {
		return err
	}
	known := filepath.Join(s.boxDir, c.name+".json")
	if c.name != "" {
		if data, err := os.ReadFile(known); err == nil {
			s.image = &stepImage{}
			return json.Unmarshal(data, s.image)
		}
		if c.image == "" {
			return fmt.Errorf("there is no container %s in this job; the first step that has it names its --container-image", c.name)
		}
	}
	img := &stepImage{}
	ref, file := c.ref()
	var err error
	if file != "" {
		if img.Squash, err = filepath.Abs(file); err == nil {
			_, err = os.Stat(img.Squash)
		}
	} else {
		img.StepImage, err = r.pull(ref)
	}
	if err != nil {
		return fmt.Errorf("--container-image=%s: %w", c.image, err)
	}
	s.image = img
	if c.name == "" {
		return nil
	}
	data, err := json.Marshal(img)
	if err != nil {
		return err
	}
	return os.WriteFile(known, data, 0o600)
}

// pullAgain is how long a server that starts anew may be away during a pull.
const pullAgain = 5 * time.Minute

// pull asks the server for an image on this machine.
func (r *record) pull(ref string) (img api.StepImage, err error) {
	if r.client == nil {
		return img, errors.New("the server that runs this job is not reached, which pulls images")
	}
	body, err := json.Marshal(api.StepImageRequest{Task: r.task, Image: ref})
	if err != nil {
		return img, err
	}
	client := &http.Client{Transport: r.client.Transport} // it takes as long as it takes
	var resp *http.Response
	for until := time.Now().Add(pullAgain); ; time.Sleep(time.Second) {
		req, err := http.NewRequest(http.MethodPost, r.url+"/v1/self/steps/image", bytes.NewReader(body))
		if err != nil {
			return img, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+r.token)
		if resp, err = client.Do(req); err == nil {
			break
		}
		if time.Now().After(until) {
			return img, fmt.Errorf("the server that pulls images does not answer: %w", err)
		}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		var p struct {
			Detail string `json:"detail"`
			Hint   string `json:"hint"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&p); err != nil || p.Detail == "" {
			return img, fmt.Errorf("the server answers %s", resp.Status)
		}
		return img, errors.New(p.Detail)
	}
	return img, json.NewDecoder(resp.Body).Decode(&img)
}

// inside is a container as a process of a step goes into it.
type inside struct {
	Thread  int      `json:"thread"` // one that is in it
	Env     []string `json:"env,omitempty"`
	Keep    []string `json:"keep,omitempty"` // variables of the script that stand over the image's
	Workdir string   `json:"workdir"`
}

// contain has one process run in its node's container.
func (s *step) contain(p *program, r rank) {
	c := &s.o.container
	m := s.boxes[r.at]
	p.Box = &inside{Thread: m.Thread, Env: slices.Concat(s.image.Env, m.Env), Workdir: cmp.Or(c.workdir, s.image.Workdir, m.Workdir, "/")}
	if c.env != "" {
		p.Box.Keep = strings.Split(c.env, ",")
	}
	if c.entrypoint {
		p.Argv = slices.Concat(s.image.Entrypoint, p.Argv)
	}
}

// notImages are beginnings of variables that say what a job has, over which no image
// stands.
var notImages = []string{"SLURM", "MUSTER_", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}

// environment puts the image's variables over the script's, as pyxis does, and gives
// programs of PyTorch's images what enroot's hook for them does
// (github.com/NVIDIA/enroot, conf/hooks/extra/50-slurm-pytorch.sh).
func (b *inside) environment() error {
	if !slices.ContainsFunc(b.Env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		b.Env = append(b.Env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	}
	torch := false
	for _, kv := range b.Env {
		name, text, _ := strings.Cut(kv, "=")
		_, set := os.LookupEnv(name)
		torch = torch || name == "PYTORCH_VERSION"
		if set && (slices.Contains(b.Keep, name) || slices.ContainsFunc(notImages, func(p string) bool { return strings.HasPrefix(name, p) })) {
			continue
		}
		if err := os.Setenv(name, text); err != nil {
			return err
		}
	}
	if !torch {
		return nil
	}
	for name, of := range map[string]string{"WORLD_SIZE": "SLURM_NTASKS", "RANK": "SLURM_PROCID", "LOCAL_RANK": "SLURM_LOCALID", "MASTER_ADDR": "SLURM_LAUNCH_NODE_IPADDR"} {
		if _, set := os.LookupEnv(name); !set {
			if err := os.Setenv(name, os.Getenv(of)); err != nil {
				return err
			}
		}
	}
	if _, set := os.LookupEnv("MASTER_PORT"); !set {
		return os.Setenv("MASTER_PORT", torchPort(os.Getenv("SLURM_JOB_ID")))
	}
	return nil
}

// torchPort is the port at which the processes of a job of PyTorch meet: a number of
// its own among the last 4,536.
func torchPort(job string) string {
	n := 0
	_, _ = fmt.Sscan(job, &n)
	return fmt.Sprint(n%4536 + 61000)
}

// box is a container as its holder is told of it.
type box struct {
	Image  stepImage  `json:"image"`
	Dir    string     `json:"dir"` // what is changed in the container is kept below
	Mounts []boxMount `json:"mounts,omitempty"`
}

// boxMount is a place of the machine in a container.
type boxMount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	Ours     bool   `json:"ours,omitempty"` // left out where there is none
}

// boxMounts reads --container-mounts, and adds what else a step has of the machine.
func (c *containerOptions) boxMounts() (all []boxMount, err error) {
	for text := range strings.SplitSeq(c.mounts, ",") {
		if text == "" {
			continue
		}
		parts := strings.SplitN(text, ":", 3)
		m := boxMount{Source: parts[0], Target: parts[0]}
		if len(parts) > 1 {
			m.Target = parts[1]
		}
		if len(parts) > 2 {
			m.ReadOnly = slices.Contains(strings.Split(parts[2], "+"), "ro")
		}
		if m.Source, err = filepath.Abs(m.Source); err != nil {
			return nil, err
		}
		if m.Target == "" || parts[0] == "" || len(parts) > 1 && !strings.HasPrefix(m.Target, "/") {
			return nil, fmt.Errorf("--container-mounts: %q is not SRC:DST[:FLAGS], with an absolute path DST", text)
		}
		if len(parts) == 1 {
			m.Target = m.Source
		}
		all = append(all, m)
	}
	if home := os.Getenv("HOME"); c.home && home != "" {
		all = append(all, boxMount{Source: home, Target: home})
	}
	// By which a program tells the server how far it is.
	if path, is := strings.CutPrefix(os.Getenv("MUSTER_TASK_URL"), "unix://"); is {
		all = append(all, boxMount{Source: path, Target: path, Ours: true})
	}
	if path := os.Getenv("MUSTER_TASK_TOKEN_FILE"); path != "" {
		all = append(all, boxMount{Source: path, Target: path, ReadOnly: true, Ours: true})
	}
	return all, nil
}

func (h *box) encoded() (string, error) {
	data, err := json.Marshal(h)
	return base64.StdEncoding.EncodeToString(data), err
}
