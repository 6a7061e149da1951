package convert_test

import (
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert"
	"github.com/musterhq/muster/internal/convert/dstack"
	"github.com/musterhq/muster/internal/convert/skypilot"
	"github.com/musterhq/muster/internal/convert/source"
)

// root is the home directory of a task in an image, whose user is root there.
const root = "/root"

// TestPathsOfWhoSubmits: files of SkyPilot's tasks are those of the machine that they are
// submitted from, as far as tasks can see them.
func TestPathsOfWhoSubmits(t *testing.T) {
	from := source.Place{Home: "/home/ada", Dir: "/home/ada/code"}
	const image = "run: x\nresources: {image_id: 'docker:a/b:1'}\n"
	for text, want := range map[string]string{
		image + "file_mounts: {~/.netrc: ~/.netrc}\n":            root + "/.netrc=/home/ada/.netrc",
		image + "file_mounts: {/data: ./data}\n":                 "/data=/home/ada/code/data",
		image + "file_mounts: {conf: conf}\n":                    root + "/sky_workdir/conf=/home/ada/code/conf",
		image + "workdir: .\n":                                   root + "/sky_workdir=/home/ada/code",
		image + "workdir: ~/other\n":                             root + "/sky_workdir=/home/ada/other",
		"run: x\nfile_mounts: {~/.netrc: ~/.netrc}\n":            "",
		"run: x\nfile_mounts: {~/a: /home/ada/a}\n":              "",
		"run: x\nfile_mounts: {/srv/a: /srv/a}\n":                "/srv/a=/srv/a",
		"run: x\nfile_mounts: {/srv/b: ~/b}\n":                   "lost file_mounts./srv/b",
		"run: x\nfile_mounts: {~/.ssh/config: ./ssh/config}\n":   "lost file_mounts.~/.ssh/config",
		"run: x\nworkdir: ./sub\nfile_mounts: {~/a: ../a}\n":     "",
		image + "envs: {D: data}\nfile_mounts: {/d: './${D}'}\n": "/d=/home/ada/code/data",
	} {
		r, err := skypilot.Import([]byte(text), from)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := ""
		for _, v := range r.Documents[0].Volumes {
			got += v.Path + "=" + v.HostPath
		}
		for _, n := range r.Lossy() {
			if n.Field != "volumes[0]" && !strings.HasPrefix(got, "/srv/a") {
				got += "lost " + n.Field
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if r := imported(t, []byte(image+"file_mounts: {~/.netrc: ~/.netrc}\n")); len(r.Lossy()) != 1 {
		t.Errorf("from nowhere: %q", lost(r))
	}
}

// TestReposOfWhoSubmits: a local repository of dstack is the directory itself.
func TestReposOfWhoSubmits(t *testing.T) {
	for repos, want := range map[string]string{
		"[.]":                            "/workflow=/home/ada/code /workflow",
		"['.:/work']":                    "/work=/home/ada/code /work",
		"['..:~/up']":                    root + "/up=/home/ada " + root + "/up",
		"[{local_path: ~/x, path: sub}]": "/workflow/sub=/home/ada/x /workflow/sub",
	} {
		r, err := dstack.Import([]byte("type: task\nimage: a\ncommands: [x]\nrepos: "+repos+"\n"), source.Place{Home: "/home/ada", Dir: "/home/ada/code"})
		if err != nil || len(r.Lossy()) != 0 {
			t.Errorf("%s: %v; lost: %q", repos, err, lost(r))
			continue
		}
		d := r.Documents[0]
		if got := d.Volumes[0].Path + "=" + d.Volumes[0].HostPath + " " + d.Workdir; got != want {
			t.Errorf("%s: %q, want %q", repos, got, want)
		}
	}
	if r := imported(t, []byte("type: task\nimage: a\ncommands: [x]\nrepos: [.]\n")); len(r.Lossy()) != 1 {
		t.Errorf("from nowhere: %q", lost(r))
	}
}

// TestBucketsAreDataVolumes: buckets and volumes of clouds are data volumes by name.
func TestBucketsAreDataVolumes(t *testing.T) {
	for text, want := range map[string]string{
		"run: x\nfile_mounts: {/b: 's3://acme'}\n":                                         "acme=/b",
		"run: x\nfile_mounts: {/b: 's3://acme/sets/one'}\n":                                "acme-sets-one=/b",
		"run: x\nfile_mounts: {/b: {source: 'gs://acme', mode: MOUNT_CACHED}}\n":           "acme=/b",
		"run: x\nfile_mounts: {/b: {source: 'gs://acme', mode: COPY}}\n":                   "acme=/b",
		"run: x\nfile_mounts: {~/b: {name: ckpt, store: gcs, persistent: true}}\n":         "ckpt=" + root + "/b",
		"run: x\nenvs: {B: acme}\nfile_mounts: {/b: {name: '${B}'}}\n":                     "acme=/b",
		"run: x\nfile_mounts: {/b: {name: '${B}'}}\n":                                      "lost file_mounts./b",
		"run: x\nfile_mounts: {/b: {name: ckpt, source: ./dir}}\n":                         "lost file_mounts./b",
		"run: x\nvolumes: {/ckpt: mnist}\n":                                                "mnist=/ckpt",
		"type: task\nimage: a\ncommands: [x]\nvolumes: ['mnist:/ckpt']\n":                  "mnist=/ckpt",
		"type: task\nimage: a\ncommands: [x]\nvolumes: [{name: [one, two], path: /c}]\n":   "one=/c",
		"type: task\nimage: a\ncommands: [x]\nvolumes: [{name: mnist, path: /ckpt}]\n":     "mnist=/ckpt",
		"type: task\nimage: a\ncommands: [x]\nvolumes: ['v-${{ dstack.node_rank }}:/d']\n": "lost volumes[0]",
	} {
		r := imported(t, []byte(text))
		got := ""
		for _, d := range r.Documents[0].Data {
			got += d.Name + "=" + d.Path
		}
		for _, n := range r.Lossy() {
			got += "lost " + n.Field
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestWhatIsNoWorkIsPassedOver: a fleet or volume of dstack needs nothing, and says why.
func TestWhatIsNoWorkIsPassedOver(t *testing.T) {
	for _, kind := range []string{"fleet", "volume", "gateway"} {
		r, err := convert.Import([]byte("type: " + kind + "\nname: a\nbackend: aws\nsize: 100GB\n"))
		if err != nil || len(r.Documents) != 0 || len(r.Lossy()) != 0 || len(r.Notes) != 1 || r.Notes[0].Reason == "" {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
}

// TestAnyOfTheChoices: choices that differ in the type of GPU alone are asked for together.
func TestAnyOfTheChoices(t *testing.T) {
	for resources, want := range map[string]string{
		"any_of: [{accelerators: 'L4:2'}, {accelerators: 'T4:2', cloud: aws}]":                              "l4|t4",
		"any_of: [{accelerators: 'A4000:1'}, {instance_type: g5.xlarge, use_spot: true}]":                   "a4000|a10g",
		"accelerators: {L40S:1, A100:1}\n  any_of: [{accelerators: 'L40S:1'}, {accelerators: 'RTX4090:1'}]": "l40s|a100|rtx4090",
	} {
		r := imported(t, []byte("run: x\nresources:\n  "+resources+"\n"))
		if g := r.Documents[0].Resources.GPU; g.Type != want || len(r.Lossy()) != 0 {
			t.Errorf("%s: %q, want %q; lost: %q", resources, g.Type, want, lost(r))
		}
	}
}

// TestOldWordsOfDstackAndSkyPilot: fields of earlier versions mean what they meant.
func TestOldWordsOfDstackAndSkyPilot(t *testing.T) {
	r := imported(t, []byte("type: task\nimage: a\nsetup: [one]\nbuild: [zero]\ncommands: [two]\nresources: {cpu: 0..8}\n"))
	d := r.Documents[0]
	if line := strings.Join(d.Command.Argv, " "); !strings.HasSuffix(line, "zero && one && two") || d.Resources.CPU != 0 || len(r.Lossy()) != 0 {
		t.Errorf("%q with %v; lost: %q", line, d.Resources.CPU, lost(r))
	}
	r = imported(t, []byte("run: x\nresources: {spot_recovery: failover, image_id: 'ghcr.io/a/b:latest'}\n"))
	if r.Documents[0].Image != "ghcr.io/a/b:latest" || len(r.Lossy()) != 0 {
		t.Errorf("%q; lost: %q", r.Documents[0].Image, lost(r))
	}
}
