package runaipolicy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/musterhq/muster/internal/convert/runaipolicy"
	"github.com/musterhq/muster/internal/core/policy"
)

// example is the one of the reference.
const example = `
defaults:
  imagePullPolicy: IfNotPresent
  nodePools: [a100, default]
  environmentVariables:
    instances:
      - {name: HTTP_PROXY, value: "http://proxy:3128"}
      - {name: TEAM, value: vision}
  compute: {cpuCoreRequest: 1, cpuMemoryRequest: 4G}
  storage:
    hostPath:
      instances: [{name: scratch, path: /scratch, mountPath: /scratch}]
rules:
  imagePullPolicy: {canEdit: false}
  image: {required: true, options: [{value: "reg/torch:2", displayed: "Torch 2"}]}
  environmentVariables: {instances: {locked: [HTTP_PROXY]}}
  compute:
    gpuDevicesRequest: {min: 1, max: 8}
    gpuPortionRequest: {min: 0.1, max: 0.9}
    cpuCoreRequest: {min: 1, max: 9, step: 2}
    cpuMemoryLimit: {max: 64G}
    cpuCoreLimit: {defaultFrom: {field: compute.cpuCoreRequest, factor: 2}}
  security: {runAsUid: {min: 500}, allowPrivilegeEscalation: {canEdit: false}}
  storage: {s3: {instances: {canAdd: false}}, hostPath: {instances: {locked: [scratch]}}}
imposedAssets: [4f6a-uuid]
`

func TestTheExampleOfTheReference(t *testing.T) {
	t.Parallel()
	tree, notes, err := runaipolicy.Read([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse(text)
	if err == nil {
		err = p.Check("training")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err = json.Marshal(p)
	const want = `{"defaults":{"pullPolicy":"missing","env":{"HTTP_PROXY":"http://proxy:3128","TEAM":"vision"},"volumes":[{"path":"/scratch","hostPath":"/scratch"}],"resources":{"cpu":"1","memory":"4G"},"pools":["a100","default"]},` +
		`"rules":{"env":{"instances":{"locked":["HTTP_PROXY"]}},"image":{"required":true,"options":[{"value":"reg/torch:2","displayed":"Torch 2"}]},"pullPolicy":{"canEdit":false},"resources.cpu":{"min":1,"max":9,"step":2},` +
		`"resources.gpu.count":{"min":1,"max":8},"resources.gpu.share":{"min":0.1,"max":0.9},"runAs.user":{"min":500},"volumes":{"instances":{"locked":["/scratch"]}}}}`
	if err != nil || string(text) != want {
		t.Errorf("%v\n got %s\nwant %s", err, text, want)
	}
	var lines []string
	for _, n := range notes {
		lines = append(lines, n.String())
	}
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		"defaults.imagePullPolicy → pullPolicy",
		"defaults.environmentVariables.instances[0] → env.HTTP_PROXY",
		"defaults.storage.hostPath.instances[0] → volumes./scratch",
		"rules.compute.cpuMemoryLimit: left out: memory that is asked for is also its limit: bound resources.memory",
		"rules.compute.cpuCoreLimit: left out: CPU has no limit beside what is asked for",
		"rules.security.allowPrivilegeEscalation: left out: documents here have nothing like it",
		"rules.storage.s3: left out: documents here have nothing like it",
		"rules.storage.hostPath.instances.locked → volumes.instances.locked: it is locked by its key /scratch",
		"imposedAssets: left out: assets are named by ids there; name ours below impose: {data: [NAME]}",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("there is no note %q in\n%s", want, all)
		}
	}
}

func TestOddPolicies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"spec: {defaults: {preemptibility: non-preemptible, terminationGracePeriodSeconds: 30}}":                      `{"defaults":{"gracePeriod":"30s","preemptible":false}}`,
		"defaults: {extendedResources: {instances: [{resource: a/b, quantity: 2}]}}":                                  `{"defaults":{"resources":{"extended":{"a/b":2}}}}`,
		"rules: {environmentVariables: {instances: {canAdd: false}, attributes: {value: {options: [{value: a}]}}}}":   `{"rules":{"env":{"attributes":{"value":{"options":[{"value":"a"}]}},"instances":{"canAdd":false}}}}`,
		"rules: {imagePullPolicy: {options: [Always, {value: Never}]}, storage: {pvc: {instances: {canAdd: false}}}}": `{"rules":{"pullPolicy":{"options":["always",{"value":"never"}]}}}`,
		"rules: {compute: {cpuMemoryRequest: {defaultFrom: {field: compute.gpuDevicesRequest, factor: 4}}}}":          `{"rules":{"resources.memory":{"defaultFrom":{"factor":4,"field":"resources.gpu.count"}}}}`,
		"defaults: {ports: {instances: [{container: 80, name: web}], attributes: {serviceType: NodePort}}}":           `{"defaults":{"ports":[{"port":80}]}}`,
		"rules: {image: {canRemove: true}, command: 3}":                                                               `{}`,
	} {
		tree, _, err := runaipolicy.Read([]byte(text))
		got, _ := json.Marshal(tree)
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s %v\nwant %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"a: b": "it has neither defaults nor rules", "[": "YAML", "": ""} {
		if _, _, err := runaipolicy.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(example)
	f.Add("rules: {environmentVariables: {instances: {locked: [1, {a: b}]}, attributes: 3}}")
	f.Add("defaults: {storage: {pvc: {instances: [3, {}], attributes: {path: {}}}}}")
	f.Fuzz(func(t *testing.T, text string) {
		tree, _, err := runaipolicy.Read([]byte(text))
		if err != nil {
			return
		}
		if data, err := json.Marshal(tree); err == nil {
			_, _ = policy.Parse(data) // must not panic
		}
	})
}
