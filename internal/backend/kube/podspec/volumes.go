package podspec

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/musterhq/muster/internal/backend"
	"github.com/musterhq/muster/internal/backend/kube/apicall"
	"github.com/musterhq/muster/internal/backend/kube/naming"
	"github.com/musterhq/muster/internal/backend/kube/podstatus"
	"github.com/musterhq/muster/internal/core/lifecycle"
)

// volumes gathers what is mounted into a pod.
type volumes struct {
	spec   *corev1.PodSpec
	main   *corev1.Container
	secret *corev1.Secret
	files  bool // the secret is mounted
}

// mount adds everything that a asks for.
func (v *volumes) mount(p *Builder, a *backend.Assignment) error {
	if a.SHM > 0 {
		v.add("shm", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: resource.NewQuantity(a.SHM, resource.BinarySI)}}, "/dev/shm", false)
	}
	for i, m := range a.Mounts {
		name := "mount-" + strconv.Itoa(i)
		switch {
		case m.Program:
			if p.cluster.Options.Program == "" {
				return apicall.Refuse(lifecycle.ReasonContainerCannot, "mpi workloads need this program in their containers, and cluster %s has no image to take it from: start the server with --kube-program-image IMAGE, which has it at /muster", p.cluster.Options.Name)
			}
			v.program(p.cluster.Options.Program, name, m.Target, a)
		case m.Claim != "":
			v.add(name, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: m.Claim, ReadOnly: m.ReadOnly}}, m.Target, m.ReadOnly)
		case m.Temporary:
			source := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
			if m.Disk {
				source.Medium = corev1.StorageMediumDefault
			}
			if m.Size > 0 {
				source.SizeLimit = resource.NewQuantity(m.Size, resource.BinarySI)
			}
			v.add(name, corev1.VolumeSource{EmptyDir: source}, m.Target, m.ReadOnly)
		default:
			sort := corev1.HostPathUnset
			if m.Create {
				sort = corev1.HostPathDirectoryOrCreate
			}
			v.add(name, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: m.Source, Type: &sort}}, m.Target, m.ReadOnly)
		}
	}
	for i, f := range a.Files {
		if f.Name == "" || f.Name != path.Base(f.Name) || f.Name == ".." || f.Name == "." {
			return apicall.Refuse(lifecycle.ReasonContainerCannot, "file %q: its name must be one part of a path", f.Name)
		}
		v.file(i, &f, a)
	}
	return nil
}

func (v *volumes) add(name string, source corev1.VolumeSource, target string, readOnly bool) {
	v.spec.Volumes = append(v.spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	v.main.VolumeMounts = append(v.main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: target, ReadOnly: readOnly})
}

// program copies this program out of its image before anything else starts.
func (v *volumes) program(image, name, target string, a *backend.Assignment) {
	dir := path.Dir(target)
	v.spec.Volumes = append(v.spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	v.main.VolumeMounts = append(v.main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: dir})
	v.spec.InitContainers = append(v.spec.InitContainers, corev1.Container{
		Name: "program", Image: image, Command: []string{"/muster", backend.CopyArg, target},
		VolumeMounts: []corev1.VolumeMount{{Name: name, MountPath: dir}},
		Resources:    Requirements(&backend.Assignment{CPU: a.CPU, Memory: a.Memory}, ""), // quotas may want that all ask for something
	})
}

// private makes the task's secret a directory in the container.
func (v *volumes) private(a *backend.Assignment) {
	if v.files {
		return
	}
	v.files = true
	mode := int32(0o400)
	if a.UID != nil && *a.UID != 0 {
		mode = 0o444 // it is root's, whoever runs
	}
	v.add("private", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: v.secret.Name, DefaultMode: &mode}}, naming.TaskDirectory+"/private", true)
}

// file puts a file into the container, where it wants to be or beside the others.
func (v *volumes) file(i int, f *backend.File, a *backend.Assignment) {
	key := fmt.Sprintf("file-%d", i)
	v.secret.Data[key] = f.Data
	v.private(a)
	at := naming.TaskDirectory + "/files/" + f.Name
	if f.Path != "" {
		at = f.Path
	}
	v.main.VolumeMounts = append(v.main.VolumeMounts, corev1.VolumeMount{Name: "private", MountPath: at, SubPath: key, ReadOnly: true})
	if f.EnvVar != "" {
		v.main.Env = append(v.main.Env, corev1.EnvVar{Name: f.EnvVar, Value: at})
	}
}

// preludeScript runs a prelude and becomes the command. A prelude may end the
// shell, so what there is to say of its failure is written before.
const preludeScript = `echo "` + podstatus.PreludeFailed + `" >/dev/termination-log; . "$0" || exit; : >/dev/termination-log; exec "$@"`

// command sets what runs.
func (v *volumes) command(a *backend.Assignment) error {
	if len(a.Prelude) == 0 {
		v.main.Command, v.main.Args = naming.Escape(a.Argv), naming.Escape(a.Args)
		return nil
	}
	if len(a.Argv) == 0 {
		return apicall.Refuse(lifecycle.ReasonContainerCannot, "command is not set: what integrations do comes before it, and in a cluster the image's own command is not known; set command")
	}
	v.secret.Data["prelude"] = a.Prelude
	v.private(a)
	v.main.Command = append([]string{"/bin/sh", "-c", naming.Escape([]string{preludeScript})[0], naming.Prelude}, naming.Escape(a.Argv)...)
	return nil
}

// credentials open registries.
func (v *volumes) credentials(a *backend.Assignment) {
	if len(a.Credentials) == 0 {
		return
	}
	type login struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}
	auths := map[string]login{}
	for _, c := range a.Credentials {
		auths[strings.TrimSuffix(c.Server, "/")] = login{c.User, c.Password}
	}
	data, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		return
	}
	v.secret.Data[corev1.DockerConfigJsonKey] = data
	v.secret.Type = corev1.SecretTypeDockerConfigJson
	v.spec.ImagePullSecrets = append(v.spec.ImagePullSecrets, corev1.LocalObjectReference{Name: v.secret.Name})
}
