package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/core/spec"
)

// kept is what is kept under names, by kind and name.
type kept map[string]string

func (k kept) take(kind, ref string) (spec.Piece, error) {
	name, version, _ := spec.SplitAsset(ref)
	if version == 0 {
		version = 3
	}
	kinds := []string{kind}
	if kind == spec.AssetData {
		kinds = []string{spec.AssetDataSource, spec.AssetDataVolume}
	}
	for _, kind := range kinds {
		if text, ok := k[kind+"/"+name]; ok {
			doc, err := spec.Parse([]byte(text))
			return spec.Piece{Kind: kind, Name: name, Version: version, ReadOnly: kind == spec.AssetDataVolume, Document: doc}, err
		}
	}
	return spec.Piece{}, errors.New("no " + spec.AssetWord(kind) + " " + ref)
}

var shelf = kept{
	"environment/torch": "image: torch:2\ncommand: [python3]\nenv: {HOME: /root, WHO: torch}\nvolumes: [{hostPath: /cache, path: /cache}]",
	"environment/jax":   "image: jax:1",
	"compute/half":      "resources: {gpu: {share: 0.5, shareLimit: 0.9}, cpu: 4, memory: 16Gi}\ntolerations: [dgx]",
	"compute/big":       "resources: {gpu: 8, cpu: 64}",
	"compute/shm":       "resources: {shm: 8Gi}",
	"datasource/net":    "volumes: [{hostPath: /srv/net, path: /data}]\nenv: {DATA: /data, WHO: net}\nsecrets: [token]",
	"datasource/other":  "volumes: [{hostPath: /srv/other, path: /data/}]",
	"datasource/code":   "integrations: [{git: {repo: acme/code}}]\nenv: {WHO: code}",
	"datavolume/corpus": "volumes: [{claim: corpus, path: /corpus}]",
	"template/tune":     "environment: torch\ncompute: half\ndata: [net]\nargs: [tune.py]\nresources: {cpu: 2}",
}

func TestAssembleLaysADocumentOverItsAssets(t *testing.T) {
	for name, c := range map[string][2]string{
		"environment": {"environment: torch\nargs: [a.py]", `image: torch:2
command: [python3]
args: [a.py]
env: {HOME: /root, WHO: torch}
volumes: [{hostPath: /cache, path: /cache}]
annotations: {muster.dev/environment: torch@3}`},
		"what the document says holds": {"environment: torch@2\ncommand: ls\nenv: {WHO: me}\ncompute: half\nresources: {gpu: 1, memory: 1Gi}", `image: torch:2
command: ls
env: {HOME: /root, WHO: me}
volumes: [{hostPath: /cache, path: /cache}]
resources: {gpu: 1, cpu: 4, memory: 1Gi}
tolerations: [dgx]
annotations: {muster.dev/environment: torch@2, muster.dev/compute: half@3}`},
		"data lies beside what is there": {"image: a\nvolumes: [{hostPath: /own, path: /own}]\nenv: {WHO: me}\nsecrets: [own]\nintegrations: [{pip: {packages: [b]}}]\ndata: [net, code, {name: corpus, path: /texts}]", `image: a
volumes: [{hostPath: /own, path: /own}, {hostPath: /srv/net, path: /data}, {claim: corpus, path: /texts, readOnly: true}]
env: {WHO: me, DATA: /data}
secrets: [own, token]
integrations: [{git: {repo: acme/code}}, {pip: {packages: [b]}}]
annotations: {muster.dev/data: "net@3,code@3,corpus@3"}`},
		"a template goes before what it builds upon": {"template: tune", `image: torch:2
command: [python3]
args: [tune.py]
env: {HOME: /root, WHO: torch, DATA: /data}
volumes: [{hostPath: /cache, path: /cache}, {hostPath: /srv/net, path: /data}]
secrets: [token]
resources: {gpu: {share: 0.5, shareLimit: 0.9}, cpu: 2, memory: 16Gi}
tolerations: [dgx]
annotations: {muster.dev/template: tune@3, muster.dev/environment: torch@3, muster.dev/compute: half@3, muster.dev/data: net@3}`},
		"and after what is named beside it": {"template: tune\ncompute: big\nenvironment: jax\ndata: [{name: net, readOnly: true}]", `image: jax:1
args: [tune.py]
env: {WHO: net, DATA: /data}
volumes: [{hostPath: /srv/net, path: /data, readOnly: true}]
secrets: [token]
resources: {gpu: 8, cpu: 64}
annotations: {muster.dev/template: tune@3, muster.dev/environment: jax@3, muster.dev/compute: big@3, muster.dev/data: net@3}`},
		"nothing is named": {"command: ls\ngracePeriod: 0", "command: ls\ngracePeriod: 0"},
	} {
		doc, err := spec.Parse([]byte(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		want, err := spec.Parse([]byte(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := spec.Assemble(doc, shelf.take)
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, spec.YAML(got), spec.YAML(want))
			continue
		}
		if got.NamesAssets() {
			t.Errorf("%s: it still names assets", name)
		}
		again, err := spec.Assemble(got, func(kind, ref string) (spec.Piece, error) { return spec.Piece{}, errors.New("it asks again") })
		if err != nil || !again.Equal(got) {
			t.Errorf("%s: twice is not once: %v", name, err)
		}
	}
}

func TestAssetsThatDoNotGoTogether(t *testing.T) {
	for text, want := range map[string]string{
		"image: a\ndata: [net, other]":                                                                 "data[1].path: data source other@3 lies at /data/, where data source net@3 has something already; give it another place, as {name: other, path: /elsewhere}",
		"image: a\nvolumes: [{hostPath: /x, path: /data}]\ndata: [net]":                                "data[0].path: data source net@3 lies at /data, where the document, in volumes[0] has something already",
		"environment: torch\nargs: [a]\ndata: [{name: net, path: /cache}]":                             "where environment torch@3 has something already",
		"image: a\ndata: [net, code]":                                                                  "data[1].name: data source code@3 sets WHO otherwise than data source net@3",
		"image: a\ndata: [{name: code, path: /x}]":                                                     "data[0].path: data source code@3 has 0 volumes, and one path is for one",
		"environment: nope\ncommand: a":                                                                "no environment nope",
		"compute: shm\ncommand: a":                                                                     "resources.shm: needs an image; write an image, or remove it: processes of the machine share its /dev/shm (it is said by compute resource shm@3)",
		"environment: torch\ncompute: half\nargs: [a]\nresources: {gpu: {memory: 8Gi, shareLimit: 1}}": "resources.gpu.shareLimit",
		"environment: To_rch\ncommand: a":                                                              `environment: "To_rch" is not the name of an asset`,
		"compute: half@x\ncommand: a":                                                                  `compute: "half@x" is not the name of an asset`,
	} {
		_, err := spec.LoadWith([]byte(text), spec.Assets{}, func(*spec.Document) spec.Resolve { return shelf.take })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// A document that names assets is judged by what it says itself until they are
// taken, and wholly afterwards.
func TestADocumentOfAssetsIsCheckedTwice(t *testing.T) {
	for text, wrong := range map[string]bool{
		"environment: torch":                              false, // which has a command
		"template: tune\nworkers: 3":                      false, // which may be of another kind
		"environment: torch\nname: No":                    true,
		"compute: half\nresources: {cpu: -1}\ncommand: a": true,
		"data: [net]":                                     true, // no data is a command
	} {
		if _, err := spec.Load([]byte(text)); (err != nil) != wrong {
			t.Errorf("%q: %v", text, err)
		}
	}
	beside := spec.Assets{Template: "tune", Compute: "big"}
	doc, err := spec.LoadWith([]byte("compute: half"), beside, func(*spec.Document) spec.Resolve { return shelf.take })
	if err != nil {
		t.Fatal(err)
	}
	if doc.Resources.GPU.Count != 8 {
		t.Errorf("what is named beside a document does not hold: %s", spec.YAML(doc))
	}
	if _, err := spec.LoadWith([]byte("template: tune\nworkers: 3"), spec.Assets{}, func(*spec.Document) spec.Resolve { return shelf.take }); err == nil || !strings.Contains(err.Error(), "workers: is for kind distributed") {
		t.Errorf("what its assets leave wrong: %v", err)
	}
}
